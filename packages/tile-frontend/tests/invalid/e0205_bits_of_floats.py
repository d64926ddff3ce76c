"""E0205: bit operations on floats."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = A[0, 1] & 1  # E0205 at 19-29
