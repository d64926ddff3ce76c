"""A block whose threads take different roles, written by hand."""
# expect: E1501 col 14

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        with T.ws(0):  # <-- here
            T.clear(A)
