"""An argument whose shape and type the kernel never says."""
# expect: E1101 col 1

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A, B):  # <-- here
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(np.zeros(64, np.float32), np.zeros(64, np.float32))
