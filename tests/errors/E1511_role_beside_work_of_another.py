"""A role inside of another one that has work of its own."""
# expect: E1511 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        tx = T.get_thread_binding()
        if tx < 192:  # <-- here
            T.clear(A)
            if tx < 128:
                T.clear(A)
