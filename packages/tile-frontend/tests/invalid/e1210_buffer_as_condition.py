"""E1210: a buffer as a condition."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        if S:  # E1210 at 12-12
            A[0, 0] = 1.0
