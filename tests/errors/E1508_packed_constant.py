"""A constant made of several values."""
# expect: E1508 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        A[0] = T.float32(1.0, 2.0)  # <-- here
