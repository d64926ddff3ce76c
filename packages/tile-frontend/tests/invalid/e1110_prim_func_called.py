"""E1110: a traced function called like a kernel."""

import numpy as np

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        A[0] = 1.0


kernel(np.zeros(64, np.float32))
