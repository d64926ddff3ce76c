"""E1407: a bitwise reduction of floats."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        F = T.alloc_fragment((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        T.reduce_bitand(F, R, dim=1)  # E1407 at 9-36
