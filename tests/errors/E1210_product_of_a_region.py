"""Arithmetic of a region."""
# expect: E1210 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.copy(A[0:32] * 2, B[0:32])  # <-- here
