"""A value used after the branch that made it."""
# expect: E1006 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        if bx > 0:
            x = A[0] * 2.0
        A[1] = x  # <-- here
