"""A macro that declares a tensor of the interface."""
# expect: E1102 col 5

import tile_frontend.language as T


@T.macro
def work(A):
    A: T.Tensor((64,), T.float32)  # <-- here
    T.clear(A)


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        work(A)
