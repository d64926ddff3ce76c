"""A tensor used above the line that declares it."""
# expect: E1113 col 12

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    rows = A.shape[0]  # <-- here
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(np.zeros(64, np.float32))
