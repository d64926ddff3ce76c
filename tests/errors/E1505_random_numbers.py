"""Random numbers made on the device."""
# expect: E1505 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.rng_init(1)  # <-- here
        T.clear(A)
