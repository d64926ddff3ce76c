"""A loop variable used after its loop."""
# expect: E1006 col 11

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.serial(64):
            A[i] = 0.0
        A[i] = 1.0  # <-- here
