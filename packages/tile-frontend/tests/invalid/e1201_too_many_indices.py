"""E1201: a buffer of two axes indexed with three."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.copy(A[0, 0, 0], S)  # E1201 at 16-25
