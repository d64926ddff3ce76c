"""An array where one barrier is meant."""
# expect: E1513 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        ready = T.alloc_barrier([128, 128])
        T.barrier_wait(ready, 0)  # <-- here
        T.clear(A)
