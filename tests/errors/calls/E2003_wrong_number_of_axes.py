"""Wrong number of axes."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T

M, N = T.dynamic("M, N")


@T.prim_func
def doubled(A: T.Tensor((M, 4), T.float32), x: T.int8):
    with T.Kernel(M) as i:
        A[i, 0] = A[i, 0] * T.cast(x, T.float32)


kernel = tile.compile(doubled, target="cpu")
kernel(np.ones(3, np.float32), 2)
