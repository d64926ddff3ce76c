"""E1502: a bulk copy instruction."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.tma_copy(A, S)  # E1502 at 9-24
