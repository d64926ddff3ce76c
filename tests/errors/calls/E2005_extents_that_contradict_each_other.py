"""Extents that contradict each other."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T

M = T.dynamic("M")


@T.prim_func
def added(A: T.Tensor((M,), T.float32), B: T.Tensor((M,), T.float32)):
    with T.Kernel(M) as i:
        A[i] = A[i] + B[i]


kernel = tile.compile(added, target="cpu")
kernel(np.ones(3, np.float32), np.ones(4, np.float32))
