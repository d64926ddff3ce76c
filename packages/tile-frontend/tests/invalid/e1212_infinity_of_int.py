"""E1212: the infinity of an integer type."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = T.infinity(T.int32)  # E1212 at 19-37
