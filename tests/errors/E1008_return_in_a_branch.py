"""`return` where a condition of run time holds."""
# expect: E1008 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        if bx > 0:
            return  # <-- here
        A[bx] = 0.0
