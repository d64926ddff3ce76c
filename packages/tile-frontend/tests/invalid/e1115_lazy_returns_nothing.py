"""E1115: a lazy function that forgets its return."""

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def make(M):
    @T.prim_func
    def kernel(A: T.Tensor((M,), T.float32)):
        with T.Kernel(1) as bx:
            A[0] = 1.0


make(64)
