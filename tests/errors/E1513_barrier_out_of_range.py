"""A barrier beyond the last one."""
# expect: E1513 col 26

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        ready = T.alloc_barrier([128, 128])
        T.barrier_arrive(ready[2])  # <-- here
        T.clear(A)
