"""E1506: a call of foreign code."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        x = T.alloc_var(T.float32, init=0)
        x = T.call_intrin("float32", "f", 1.0)  # E1506 at 13-46
