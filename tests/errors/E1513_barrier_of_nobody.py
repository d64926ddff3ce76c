"""A barrier that no thread arrives at."""
# expect: E1513 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        ready = T.alloc_barrier(0)  # <-- here
        T.clear(A)
