"""E1009: a run-time break out of a trace-time loop."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in range(4):
            if A[0, k] > 0:
                break  # E1009 at 17-21
            A[1, k] = 1.0
