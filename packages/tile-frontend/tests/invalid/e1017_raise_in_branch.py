"""E1017: an exception raised in a traced branch."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        if A[0, 0] > 0:
            raise ValueError("positive")  # E1017 at 13-40
        A[0, 0] = 1.0
