"""A loop over Python values that would become too much code."""
# expect: E1016 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in range(1000000):  # <-- here
            A[0] = i
