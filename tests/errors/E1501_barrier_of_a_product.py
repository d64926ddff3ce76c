"""A product that signals a barrier."""
# expect: E1501 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((32, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((32, 32), T.float32)
        C = T.alloc_fragment((32, 32), T.float32)
        T.copy(A, S)
        T.clear(C)
        T.gemm(S, S, C, mbar=S[0, 0])  # <-- here
        T.copy(C, A)
