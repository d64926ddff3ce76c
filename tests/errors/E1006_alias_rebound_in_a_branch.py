"""A name that a branch binds to another value."""
# expect: E1006 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        x = A[0]
        if bx > 0:
            x = A[1]
        A[2] = x  # <-- here
