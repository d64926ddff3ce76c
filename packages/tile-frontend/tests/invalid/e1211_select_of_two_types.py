"""E1211: T.Select between two types."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = T.Select(bx > 0, bx, A[0, 1])  # E1211 at 19-47
