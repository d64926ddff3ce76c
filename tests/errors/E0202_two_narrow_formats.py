"""A sum of two different 8-bit formats."""
# expect: E0202 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((16,), T.float8_e4m3fn), B: T.Tensor((16,), T.float8_e5m2)):
    with T.Kernel(1):
        for i in T.Parallel(16):
            A[i] = A[i] + B[i]  # <-- here
