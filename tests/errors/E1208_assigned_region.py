"""A region on the left of `=`."""
# expect: E1208 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        A[0:64] = 0.0  # <-- here
