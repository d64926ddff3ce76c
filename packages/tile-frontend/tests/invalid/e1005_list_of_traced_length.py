"""E1005: a list as long as a traced value."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        values = list(range(bx + 1))  # E1005 at 23-35
        A[0, 0] = values[0]
