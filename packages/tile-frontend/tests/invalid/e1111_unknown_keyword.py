"""E1111: a keyword that is neither parameter nor dimension."""

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A, block=64):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1) as bx:
        A[0] = 1.0


kernel.compile(bloc="32")  # E1111 at 1-25
