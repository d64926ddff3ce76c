"""E1002: an assignment inside an expression."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = (y := 2.0) + 1.0  # E1002 at 20-27
