"""E1301: a kernel inside a kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        with T.Kernel(2) as by:  # E1301 at 9-31
            A[0, 0] = 1.0
