"""A role that ends in the middle of a warp."""
# expect: E1511 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        if tx < 48:  # <-- here
            T.clear(A)
