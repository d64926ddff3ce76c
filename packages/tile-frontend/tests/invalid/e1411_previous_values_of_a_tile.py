"""E1411: previous values asked of a tile update."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        F = T.alloc_fragment((64, 64), T.float32)
        y = T.atomic_add(A, F, return_prev=True)  # E1411 at 13-48
