"""`raise` where a condition of run time holds."""
# expect: E1017 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        if bx > 2:
            raise ValueError("too many")  # <-- here
        A[bx] = 0.0
