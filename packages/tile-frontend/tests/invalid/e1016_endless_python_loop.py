"""E1016: a loop that never ends while tracing."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in range(10**9):  # E1016 at 9-30
            A[0, 0] = 1.0
