"""Dimension that no argument determines."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T

N = T.dynamic("N")


@T.prim_func
def ones(A: T.Tensor((1,), T.float32)):
    B = T.empty((N,), T.float32)
    with T.Kernel(N) as i:
        B[i] = A[0]
    return B


tile.compile(ones, target="cpu")(np.ones(1, np.float32))
