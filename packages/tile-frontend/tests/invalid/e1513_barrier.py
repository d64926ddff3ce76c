"""E1513: a barrier that nobody arrives at."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        bar = T.alloc_barrier(0)  # E1513 at 15-32
