"""E1408: a reduction of a global tensor."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        R = T.alloc_fragment((64,), T.float32)
        T.reduce_sum(A, R, dim=1)  # E1408 at 9-33
