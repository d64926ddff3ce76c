"""An architecture that the target does not describe."""
# expect: E0916 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


tile.compile(kernel, target="cpu -arch=z80")  # <-- here
