"""E1002: a generator as a kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = 1.0
        yield 3  # E1002 at 9-15
