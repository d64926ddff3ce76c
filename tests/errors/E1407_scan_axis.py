"""A running sum along an axis that the tile lacks."""
# expect: E1407 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        x = T.alloc_shared((64, 32), T.float32)
        T.copy(A, x)
        T.cumsum(x, dim=2)  # <-- here
