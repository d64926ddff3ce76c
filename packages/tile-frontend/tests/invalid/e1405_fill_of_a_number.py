"""E1405: a fill of a number."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.fill(bx, 0.0)  # E1405 at 9-23
