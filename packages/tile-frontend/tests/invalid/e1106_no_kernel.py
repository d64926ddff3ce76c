"""E1106: a function without a kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):  # E1106 at 1-42
    M = 64
