"""A function without a kernel."""
# expect: E1106 col 1

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):  # <-- here
    B = T.empty((64,), T.float32)
    return B
