"""E1007: a counter of a traced while loop."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        i = bx + 0
        while i < 8:
            A[0, i] = 1.0
            i = i + 1  # E1007 at 13-21
