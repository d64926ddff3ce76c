"""An output that the caller never gets."""
# expect: E1103 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    B = T.empty((64,), T.float32)  # <-- here
    with T.Kernel(64) as bx:
        B[bx] = A[bx]
