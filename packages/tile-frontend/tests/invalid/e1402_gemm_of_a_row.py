"""E1402: a product with an operand that is no matrix."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        T.gemm(R, S, F)  # E1402 at 9-23
