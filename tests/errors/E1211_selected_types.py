"""`T.Select` between two types."""
# expect: E1211 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32), B: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.Select(i < 64, A[i], B[i])  # <-- here
