"""A keyword that is no parameter of the kernel."""
# expect: E1111 col 1

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A, block=16):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(np.zeros(64, np.float32), blok="16")  # <-- here
