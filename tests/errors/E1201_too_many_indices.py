"""A vector indexed with two numbers."""
# expect: E1201 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i, 0] = 0.0  # <-- here
