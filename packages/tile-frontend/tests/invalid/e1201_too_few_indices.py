"""E1201: a buffer of two axes indexed with one."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = A[1]  # E1201 at 19-22
