"""Assertion failed in a kernel."""

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def checked(A: T.Tensor((4,), T.float32)):
    with T.Kernel(4) as i:
        T.device_assert(A[i] > 0.0, "A must be positive")
        A[i] = 1.0 / A[i]


tile.compile(checked, target="cpu")(np.zeros(4, np.float32))
