"""A string where a number is wanted."""
# expect: E1207 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        A[0] = A[1] + "one"  # <-- here
