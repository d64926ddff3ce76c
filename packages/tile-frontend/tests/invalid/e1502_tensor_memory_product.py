"""E1502: a matrix instruction of one family of devices."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.tcgen05_gemm(S, S, S)  # E1502 at 9-31
