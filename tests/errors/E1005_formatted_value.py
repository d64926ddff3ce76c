"""A value of the kernel in a text."""
# expect: E1005 cols 15 or 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        print(f"{A[0]:.3f}")  # <-- here
