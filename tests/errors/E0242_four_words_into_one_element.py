"""Four words of a wide load, assigned to one element."""
# expect: E0242 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(32):
            A[i] = T.ldg128(A[i * 4])  # <-- here
