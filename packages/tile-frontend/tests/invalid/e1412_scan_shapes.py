"""E1412: a running sum into another shape."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        T.cumsum(F, S[0:32, 0:64], dim=0)  # E1412 at 9-41
