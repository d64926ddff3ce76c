"""E1108: an output position that does not exist."""

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        A[0] = 1.0


tile.compile(kernel, out_idx=3)
