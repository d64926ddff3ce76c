"""E1101: an eager tensor that no annotation declares."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):  # E1101 at 1-14
    with T.Kernel(1) as bx:
        pass


kernel(np.zeros(4, np.float32))
