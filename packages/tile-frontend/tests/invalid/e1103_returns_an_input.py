"""E1103: an input that is returned."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        A[0] = 1.0
    return A  # E1103 at 5-12
