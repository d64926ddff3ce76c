"""E1410: a transpose into a tile of the same orientation."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        T.transpose(S[0:32, 0:64], F[0:32, 0:64])  # E1410 at 9-49
