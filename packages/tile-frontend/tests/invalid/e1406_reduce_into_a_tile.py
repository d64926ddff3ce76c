"""E1406: a reduction into a tile that keeps the axis."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        T.reduce_sum(F, S, dim=1)  # E1406 at 9-33
