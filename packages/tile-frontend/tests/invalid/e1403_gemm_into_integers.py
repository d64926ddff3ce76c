"""E1403: a product of floats accumulated in integers."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        H = T.alloc_shared((64, 64), T.float16)
        C = T.alloc_fragment((64, 64), T.int32)
        T.gemm(H, H, C)  # E1403 at 9-23
