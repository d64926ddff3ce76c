"""E1007: a running sum kept in a plain name."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        total = 0.0
        for k in T.serial(8):
            total = total + A[0, k]  # E1007 at 13-35
