"""E1203: a slice with a step."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.copy(A[0:64:2, 0:32], S[0:32, 0:32])  # E1203 at 16-30
