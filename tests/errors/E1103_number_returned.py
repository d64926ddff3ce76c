"""A number returned by a kernel."""
# expect: E1103 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(64) as bx:
        A[bx] = 0.0
    return 1  # <-- here
