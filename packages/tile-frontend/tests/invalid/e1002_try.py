"""E1002: exceptions in a kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        try:  # E1002 at 9-12
            A[0, 0] = 1.0
        except ValueError:
            pass
