"""A product that reads a global tensor."""
# expect: E1408 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((32, 32), T.float32)):
    with T.Kernel(1):
        c = T.alloc_fragment((32, 32), T.float32)
        T.clear(c)
        T.gemm(A, A, c)  # <-- here
        T.copy(c, A)
