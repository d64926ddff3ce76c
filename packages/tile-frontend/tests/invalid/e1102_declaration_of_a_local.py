"""E1102: a bare annotation of a name that is no parameter."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        B: T.Tensor((64,), T.float32)  # E1102 at 9-37
        A[0, 0] = 1.0
