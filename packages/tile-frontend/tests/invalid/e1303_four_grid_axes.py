"""E1303: a grid of four axes."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1, 2, 3, 4) as b:  # E1303 at 10-29
        A[1] = 1.0
