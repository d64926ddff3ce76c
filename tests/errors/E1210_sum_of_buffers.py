"""Arithmetic on whole buffers."""
# expect: E1210 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((128,), T.float32)
        T.copy(A + 1.0, S)  # <-- here
