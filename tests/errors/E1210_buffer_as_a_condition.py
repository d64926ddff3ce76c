"""A whole buffer as the condition of `if`."""
# expect: E1210 col 12

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        if A:  # <-- here
            T.clear(A)
