"""E1403: a product of float16 and float32."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        H = T.alloc_shared((64, 64), T.float16)
        T.gemm(H, S, F)  # E1403 at 9-23
