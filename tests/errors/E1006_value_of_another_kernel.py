"""A value used in the kernel after the one that made it."""
# expect: E1006 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        x = A[bx]
        A[bx] = x + 1.0
    with T.Kernel(4) as by:
        A[by] = x  # <-- here
