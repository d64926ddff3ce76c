"""E1407: a reduction along an axis that does not exist."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        F = T.alloc_fragment((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        T.reduce_max(F, R, dim=2)  # E1407 at 9-33
