"""A product of floats that is gathered in integers."""
# expect: E1403 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(C: T.Tensor((32, 32), T.int32)):
    with T.Kernel(1):
        a = T.alloc_shared((32, 32), T.float16)
        c = T.alloc_fragment((32, 32), T.int32)
        T.gemm(a, a, c)  # <-- here
        T.copy(c, C)
