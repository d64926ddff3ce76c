"""A copy of which nobody learns the end."""
# expect: E1514 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((128,), T.float32)
        T.tma_copy(A, S)  # <-- here
