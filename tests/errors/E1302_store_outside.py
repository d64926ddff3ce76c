"""An element assigned before the kernel."""
# expect: E1302 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    A[0] = 1.0  # <-- here
    with T.Kernel(4) as bx:
        A[bx] = 1.0
