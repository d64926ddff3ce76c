"""A product with a sparse operand."""
# expect: E1505 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 64), T.float16)):
    with T.Kernel(1):
        S = T.alloc_shared((128, 64), T.float16)
        T.gemm_sp(S, S, S, S)  # <-- here
