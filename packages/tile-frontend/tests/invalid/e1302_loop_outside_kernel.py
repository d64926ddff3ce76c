"""E1302: a loop outside any kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    for i in T.serial(64):  # E1302 at 5-26
        A[i] = 1.0
