"""A vote among lanes that are only known when the kernel runs."""
# expect: E1522 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        A[tx] = T.any_sync(tx > 3, mask=tx)  # <-- here
