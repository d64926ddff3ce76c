"""E1302: an assignment outside any kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    A[0] = 1.0  # E1302 at 5-14
    with T.Kernel(1) as bx:
        A[1] = 1.0
