"""A running sum into a tile of another size."""
# expect: E1412 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        x = T.alloc_shared((64, 32), T.float32)
        y = T.alloc_shared((64, 16), T.float32)
        T.copy(A, x)
        T.cumsum(x, y, dim=1)  # <-- here
