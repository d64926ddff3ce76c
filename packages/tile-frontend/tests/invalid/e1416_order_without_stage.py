"""E1416: half of an explicit schedule."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in T.Pipelined(8, order=[0, 1]):  # E1416 at 18-45
            A[0, k] = 1.0
