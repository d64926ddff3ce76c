"""An atomic bitwise or into a float."""
# expect: E1411 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.atomic_or(A[0], 1)  # <-- here
