"""A Python argument whose value cannot tell kernels apart."""
# expect: E1112 col 1

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


class Settings:
    __hash__ = None


@tile.jit
def kernel(A, settings):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(np.zeros(64, np.float32), Settings())  # <-- here
