"""E1010: a loop over a number."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in bx:  # E1010 at 9-20
            A[0, k] = 1.0
