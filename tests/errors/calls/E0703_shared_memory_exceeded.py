"""Shared memory exceeded."""

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((512, 512), T.float32)):
    with T.Kernel(1):
        tile_of_a = T.alloc_shared((512, 512), T.float32)
        T.copy(A, tile_of_a)
        T.copy(tile_of_a, A)


tile.compile(kernel, target="cuda -arch=sm_80")
