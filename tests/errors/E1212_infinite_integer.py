"""The infinity of an integer type."""
# expect: E1212 col 19

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.int32)):
    with T.Kernel(1):
        T.fill(A, T.infinity(T.int32))  # <-- here
