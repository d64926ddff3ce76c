"""A macro that assigns to something that cannot be assigned to."""
# expect: E1601 col 9

import tile_frontend.language as T


@T.macro
def increment(x: T.Ref):
    x = x + 1.0


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        increment(A[0] + 1.0)  # <-- here
