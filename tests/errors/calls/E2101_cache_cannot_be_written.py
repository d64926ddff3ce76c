"""Cache cannot be written."""

import os
import tempfile
import warnings

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def cleared(A: T.Tensor((4,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


warnings.simplefilter("error")
with tempfile.NamedTemporaryFile() as file:
    os.environ["TILE_CACHE_DIR"] = file.name  # a file, not a folder
    tile.compile(cleared, target="cpu")
