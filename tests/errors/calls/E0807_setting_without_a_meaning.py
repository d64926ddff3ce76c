"""Setting without a meaning."""

import os

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def cleared(A: T.Tensor((4,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


os.environ["TILE_NUM_THREADS"] = "many"
tile.compile(cleared, target="cpu")(np.zeros(4, np.float32))
