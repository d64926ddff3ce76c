"""E1508: an element type called with several values."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        y = T.float32x2(1.0, 2.0)  # E1508 at 13-33
