"""A product into tensor memory."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 128), T.float16)):
    with T.Kernel(1):
        S = T.alloc_shared((128, 128), T.float16)
        T.tcgen05_gemm(S, S, S)  # <-- here
