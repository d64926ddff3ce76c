"""E0203: the true division of integers."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = A[0, bx / 2]  # E0203 at 24-29
