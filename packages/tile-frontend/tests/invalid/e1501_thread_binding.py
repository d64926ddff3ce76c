"""E1501: the index of a thread."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        tx = T.get_thread_binding(0)  # E1501 at 14-36
