"""E1208: a region assigned like an array."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        S[0:4, 0:4] = 0.0  # E1208 at 9-19
