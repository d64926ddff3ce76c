"""A function of the lazy style that returns something else."""
# expect: E1115 in the call

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(n):
    @T.prim_func
    def inner(A: T.Tensor((n,), T.float32)):
        with T.Kernel(1):
            T.clear(A)

    return n


kernel(64)  # <-- here
