"""A value used after the loop that made it."""
# expect: E1006 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.serial(64):
            x = A[i] * 2.0
        A[0] = x  # <-- here
