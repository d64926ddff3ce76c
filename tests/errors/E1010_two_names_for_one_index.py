"""Two names for the one index of a grid of one axis."""
# expect: E1010 col 25

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as (bx, by):  # <-- here
        A[bx] = by
