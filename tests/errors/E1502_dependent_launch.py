"""A wait for the previous grid."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.pdl_sync()  # <-- here
        T.clear(A)
