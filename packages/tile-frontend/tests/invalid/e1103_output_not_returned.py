"""E1103: an output that is not returned."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    B = T.empty((64,), T.float32)  # E1103 at 5-33
    with T.Kernel(1) as bx:
        T.copy(A, B)
