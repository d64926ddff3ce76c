"""A loop without an end."""
# expect: E1016 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        while True:  # <-- here
            A[0] = A[0] + 1.0
