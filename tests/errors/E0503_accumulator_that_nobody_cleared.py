"""A product is added to registers that nothing was put into."""
# expect: E0503 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32), C: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        A_s = T.alloc_shared((64, 64), T.float32)
        C_l = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, A_s)
        T.gemm(A_s, A_s, C_l)  # <-- here
        T.copy(C_l, C)
