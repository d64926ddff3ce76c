"""E1005: a comprehension over a traced range."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        values = [A[0, i] for i in range(bx)]  # E1005 at 36-44
        A[0, 0] = values[0]
