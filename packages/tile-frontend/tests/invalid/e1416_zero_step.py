"""E1416: a loop with step zero."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for i in T.serial(0, 8, 0):  # E1416 at 18-34
            A[0, i] = 1.0
