"""A tile scheduler whose panels have no columns."""
# expect: E1417 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(4):
        tiles = T.PersistentTileScheduler(4, 4, swizzle_size=0)  # <-- here
        T.clear(A)
