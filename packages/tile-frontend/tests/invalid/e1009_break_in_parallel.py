"""E1009: a break out of T.Parallel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for i in T.Parallel(64):
            if A[0, i] > 0:
                break  # E1009 at 17-21
            A[1, i] = 1.0
