"""Patches of an image without an axis of images."""
# expect: E1420 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((8, 8, 4), T.float32)):
    with T.Kernel(1):
        tile = T.alloc_shared((16, 16), T.float32)
        T.im2col(A, tile, 0, 0, 3, 1, 1, 1)  # <-- here
