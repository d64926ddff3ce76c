"""A matrix indexed with one number."""
# expect: E1201 col 23

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 64), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i, 0] = A[i]  # <-- here
