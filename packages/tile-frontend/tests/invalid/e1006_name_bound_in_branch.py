"""E1006: a name used after the branch that bound it."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        if bx > 1:
            y = bx * 2
        else:
            y = bx
        A[0, 0] = y + 1  # E1006 at 19-19
