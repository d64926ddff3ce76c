"""E1504: a name that the language lacks."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.alloc_shard((64, 64), T.float32)  # E1504 at 9-21
