"""A copy of a number into a tile."""
# expect: E1405 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64,), T.float32)
        T.copy(1.0, S)  # <-- here
