"""E1602: a macro with statements in a lazily evaluated operand."""

import tile_frontend.language as T


@T.macro
def half(v):
    y = T.alloc_var(T.float32, init=0.5)  # E1602 at 9-40
    return v * y


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = half(A[0, 1]) if bx > 0 else 0.0
