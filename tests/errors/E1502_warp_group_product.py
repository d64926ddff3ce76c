"""A product of a warp group without a wait."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float16)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 64), T.float16)
        C = T.alloc_fragment((64, 64), T.float32)
        T.wgmma_gemm(S, S, C)  # <-- here
