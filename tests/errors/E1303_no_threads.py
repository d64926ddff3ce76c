"""A block of no threads."""
# expect: E1303 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1, threads=0):  # <-- here
        T.clear(A)
