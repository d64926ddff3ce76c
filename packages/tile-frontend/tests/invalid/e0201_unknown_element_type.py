"""E0201: an element type that does not exist."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        B = T.alloc_shared((4, 4), "float17")  # E0201 at 13-45
