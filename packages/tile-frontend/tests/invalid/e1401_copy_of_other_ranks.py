"""E1401: a two-axis tile into a row."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        T.copy(S, R)  # E1401 at 9-20
