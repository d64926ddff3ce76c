"""A barrier made again and again."""
# expect: E1513 col 21

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for _ in T.serial(4):
            ready = T.alloc_barrier(128)  # <-- here
            T.barrier_arrive(ready)
        T.clear(A)
