"""A product of float16 and float32."""
# expect: E1403 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(C: T.Tensor((32, 32), T.float32)):
    with T.Kernel(1):
        a = T.alloc_shared((32, 32), T.float16)
        b = T.alloc_shared((32, 32), T.float32)
        c = T.alloc_fragment((32, 32), T.float32)
        T.gemm(a, b, c)  # <-- here
        T.copy(c, C)
