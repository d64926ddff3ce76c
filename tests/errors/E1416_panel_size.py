"""Panels of no tiles."""
# expect: E1416 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4, 4) as (bx, by):
        T.use_swizzle(0)  # <-- here
        A[bx * 4 + by] = 0.0
