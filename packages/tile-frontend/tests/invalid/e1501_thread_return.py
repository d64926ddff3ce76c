"""E1501: a thread that leaves by itself."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.thread_return()  # E1501 at 9-25
