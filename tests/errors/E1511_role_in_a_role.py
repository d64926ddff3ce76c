"""A role inside of a role."""
# expect: E1511 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        with T.ws(0):
            with T.ws(1):  # <-- here
                T.clear(A)
