"""E1204: an index outside a shared tile."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        A[0, 0] = S[64, 0]  # E1204 at 19-26
