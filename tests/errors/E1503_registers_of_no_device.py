"""A number of registers that no device hands out."""
# expect: E1503 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        with T.ws(0):
            T.set_max_nreg(100, True)  # <-- here
            T.clear(A)
