"""A loop that never advances."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.serial(0, 64, 0):  # <-- here
            A[i] = 0.0
