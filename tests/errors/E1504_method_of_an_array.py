"""A function of arrays as a method."""
# expect: E1504 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = A[1].exp()  # <-- here
