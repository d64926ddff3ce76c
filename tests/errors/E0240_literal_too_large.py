"""A constant that its type cannot hold."""
# expect: E0240 col 19

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.int8)):
    with T.Kernel(1):
        T.fill(A, T.int8(300))  # <-- here
