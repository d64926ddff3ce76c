"""E1008: a return that only some tiles would take."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        if bx > 1:
            return  # E1008 at 13-18
        A[0, 0] = 1.0
