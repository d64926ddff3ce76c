"""A conversion that rounds at random."""
# expect: E1503 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32), B: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            B[i] = T.cast(A[i], T.float16, round="rs")  # <-- here
