"""A tensor of the caller returned as if the kernel had made it."""
# expect: E1103 col 5

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)
    return A  # <-- here


kernel(np.zeros(64, np.float32))
