"""A role in which each thread has an element of its own."""
# expect: E1501 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        with T.ws(0):
            A[tx] = 0.0  # <-- here
