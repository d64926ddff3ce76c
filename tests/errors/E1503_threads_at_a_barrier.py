"""A barrier of other threads than those that come to it."""
# expect: E1503 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        with T.ws(0):
            T.sync_threads(1, 256)  # <-- here
            T.clear(A)
