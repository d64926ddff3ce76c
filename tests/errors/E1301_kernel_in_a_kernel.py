"""A kernel inside a kernel."""
# expect: E1301 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4):
        with T.Kernel(4) as bx:  # <-- here
            A[bx] = 0.0
