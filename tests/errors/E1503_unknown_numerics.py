"""Numerics that do not exist."""
# expect: E1503 in the call

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


tile.compile(kernel, target="cpu", numerics="exact")  # <-- here
