"""E1502: a hardware barrier."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        bar = T.alloc_barrier(128)  # E1502 at 15-34
