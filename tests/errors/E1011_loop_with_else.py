"""A loop with an `else`."""
# expect: E1011 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.serial(64):  # <-- here
            A[i] = 0.0
        else:
            A[0] = 1.0
