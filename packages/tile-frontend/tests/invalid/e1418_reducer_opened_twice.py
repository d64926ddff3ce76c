"""E1418: a reducer that is opened while it is open."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        r = T.alloc_reducer((64,), T.float32)
        T.reducer_init(r)
        T.reducer_init(r)  # E1418 at 9-25
