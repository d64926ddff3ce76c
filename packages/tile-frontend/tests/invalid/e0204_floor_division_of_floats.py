"""E0204: floor division of floats."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = A[0, 1] // 2.0  # E0204 at 19-32
