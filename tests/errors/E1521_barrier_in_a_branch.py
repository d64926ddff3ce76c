"""A barrier of the block that some of its threads do not reach."""
# expect: E1521 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        if tx < 16:
            A[tx] = 1.0
            T.sync_threads()  # <-- here
            A[tx] = 2.0
