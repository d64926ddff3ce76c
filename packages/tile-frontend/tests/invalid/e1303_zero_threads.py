"""E1303: a block without threads."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1, threads=0) as b:  # E1303 at 10-31
        A[1] = 1.0
