"""E1108: out_idx on an eager kernel."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit(out_idx=[0])
def kernel(A):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1) as bx:
        A[0] = 1.0


kernel(np.zeros(64, np.float32))
