"""Two roles that share some threads."""
# expect: E1511 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        with T.ws(0):
            T.clear(A)
        with T.ws(0, 1):  # <-- here
            T.clear(A)
