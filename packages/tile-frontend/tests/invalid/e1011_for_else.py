"""E1011: a loop with an else branch."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in T.serial(4):  # E1011 at 9-29
            A[0, k] = 1.0
        else:
            A[1, 0] = 1.0
