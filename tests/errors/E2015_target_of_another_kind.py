"""A number where a target is wanted."""
# expect: E2015 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


tile.compile(kernel, target=80)  # <-- here
