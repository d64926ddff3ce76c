"""A macro that calls itself without an end."""
# expect: E1603 col 5

import tile_frontend.language as T


@T.macro
def again(A):
    again(A)  # <-- here


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        again(A)
