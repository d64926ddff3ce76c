"""E1104: a T.const that no tensor has as an extent."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    N = T.const("N")  # E1104 at 5-20
    A: T.Tensor((64,), T.float32)
    with T.Kernel(N) as bx:
        A[bx] = 1.0


kernel(np.zeros(64, np.float32))
