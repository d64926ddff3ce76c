"""E1306: a tile operation inside T.Parallel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        R = T.alloc_fragment((64,), T.float32)
        for i in T.Parallel(64):
            T.copy(A[i, 0], R)  # E1306 at 13-30
