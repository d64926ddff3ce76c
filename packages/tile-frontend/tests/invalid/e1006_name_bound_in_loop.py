"""E1006: a name used after the loop that bound it."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in T.serial(4):
            last = k * 2
        A[0, 0] = last  # E1006 at 19-22
