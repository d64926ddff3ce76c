"""A parameter without a type."""
# expect: E1101 col 1

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n):  # <-- here
    with T.Kernel(1):
        T.fill(A, n)
