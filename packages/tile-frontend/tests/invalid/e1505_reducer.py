"""E1505: a part of the language that is not there yet."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        r = T.alloc_reducer((64,), T.float32)  # E1505 at 13-45
