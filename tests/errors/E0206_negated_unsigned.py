"""Unary minus on an unsigned integer."""
# expect: E0206 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.uint32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = -A[i]  # <-- here
