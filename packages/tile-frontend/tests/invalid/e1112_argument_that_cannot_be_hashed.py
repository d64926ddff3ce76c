"""E1112: a Python argument without a value to compare."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A, options):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1) as bx:
        A[0] = 1.0


kernel(np.zeros(64, np.float32), bytearray(b"x"))
