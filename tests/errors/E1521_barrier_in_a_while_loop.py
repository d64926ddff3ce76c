"""Threads that wait for each other in a loop that they leave at different times."""
# expect: E1521 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        n = T.alloc_var(T.int32, init=0)
        while n < tx:  # <-- here
            n += 1
            T.sync_threads()
