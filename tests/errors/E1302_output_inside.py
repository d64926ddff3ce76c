"""An output made inside the kernel."""
# expect: E1302 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        B = T.empty((64,), T.float32)  # <-- here
        B[bx] = A[bx]
    return B
