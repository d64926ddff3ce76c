"""A barrier of the whole grid that some blocks would not reach."""
# expect: E1517 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        if bx > 2:
            T.sync_grid()  # <-- here
        A[bx] = 0.0
