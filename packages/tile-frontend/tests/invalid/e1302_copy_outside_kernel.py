"""E1302: a tile operation outside any kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
    T.copy(A, B)  # E1302 at 5-16
    with T.Kernel(1) as bx:
        A[1] = 1.0
