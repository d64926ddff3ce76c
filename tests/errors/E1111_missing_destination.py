"""A tile operation as if it gave a tile."""
# expect: E1111 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        tile = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, tile)
        total = T.reduce_sum(tile, dim=1)  # <-- here
        T.copy(total, A[0, :])
