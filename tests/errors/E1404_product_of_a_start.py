"""A product with an operand of which only the start is given."""
# expect: E1404 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(C: T.Tensor((32, 32), T.float32)):
    with T.Kernel(1):
        a = T.alloc_shared((64, 64), T.float32)
        c = T.alloc_fragment((32, 32), T.float32)
        T.gemm(a[0, 0], a[0:32, 0:32], c)  # <-- here
        T.copy(c, C)
