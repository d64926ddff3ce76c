"""E1210: arithmetic on whole buffers."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        F = T.alloc_fragment((64, 64), T.float32)
        A[0, 0] = F + 1.0  # E1210 at 19-25
