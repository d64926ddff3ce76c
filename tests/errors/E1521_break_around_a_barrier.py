"""Threads that leave a loop in which the others go on to a barrier."""
# expect: E1521 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        for i in T.serial(4):
            T.sync_threads()
            if tx < i:
                break  # <-- here
