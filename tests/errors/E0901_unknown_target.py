"""A target that nothing installed offers."""
# expect: E0901 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


tile.compile(kernel, target="abacus")  # <-- here
