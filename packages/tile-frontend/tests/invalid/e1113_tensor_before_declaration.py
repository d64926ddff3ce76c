"""E1113: a tensor used before its declaration."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    rows = A.shape[0]  # E1113 at 12-18
    A: T.Tensor((64,), T.float32)
    with T.Kernel(rows) as bx:
        A[0] = 1.0


kernel(np.zeros(64, np.float32))
