"""E1006: a loop variable used after its loop."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in T.serial(4):
            A[0, k] = 1.0
        A[1, k] = 2.0  # E1006 at 14-14
