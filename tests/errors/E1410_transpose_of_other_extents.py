"""A transpose into a tile of the same shape."""
# expect: E1410 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        x = T.alloc_shared((64, 32), T.float32)
        y = T.alloc_shared((64, 32), T.float32)
        T.copy(A, x)
        T.transpose(x, y)  # <-- here
