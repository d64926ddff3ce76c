"""A random number where no stream has been opened."""
# expect: E1419 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            A[i] = T.rng_rand_float()  # <-- here
