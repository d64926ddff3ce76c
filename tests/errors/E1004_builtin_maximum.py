"""Python's `max` of traced values."""
# expect: E1004 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = max(A[1], A[2])  # <-- here
