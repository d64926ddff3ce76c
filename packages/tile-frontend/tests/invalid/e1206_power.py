"""E1206: the power operator."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = A[0, 1] ** 2  # E1206 at 19-30
