"""Arguments that share memory."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def doubled(A: T.Tensor((8,), T.float32), B: T.Tensor((8,), T.float32)):
    with T.Kernel(8) as i:
        B[i] = A[i] * 2.0


kernel = tile.compile(doubled, target="cpu")
base = np.ones(9, np.float32)
kernel(base[:8], base[1:])
