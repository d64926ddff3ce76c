"""E1213: an assumption that is never true."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.assume(1 > 2)  # E1213 at 9-23
