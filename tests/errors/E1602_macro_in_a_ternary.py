"""A macro that would make statements on the lazy side of a ternary."""
# expect: E1602 col 5

import tile_frontend.language as T


@T.macro
def counted(A):
    A[1] = A[1] + 1.0  # <-- here
    return A[0]


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4) as bx:
        x = counted(A) if bx > 0 else 0.0
        A[2] = x
