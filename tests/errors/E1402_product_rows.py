"""A product with fewer rows than its result."""
# expect: E1402 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(C: T.Tensor((32, 32), T.float32)):
    with T.Kernel(1):
        a = T.alloc_shared((16, 16), T.float32)
        b = T.alloc_shared((16, 32), T.float32)
        c = T.alloc_fragment((32, 32), T.float32)
        T.gemm(a, b, c)  # <-- here
        T.copy(c, C)
