"""E1004: Python's own max of traced values."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = max(A[0, 1], A[0, 2])  # E1004 at 19-39
