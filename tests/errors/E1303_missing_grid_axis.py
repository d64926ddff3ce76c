"""The block index along an axis that the grid lacks."""
# expect: E1303 col 11

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(4):
        A[T.get_block_binding(1)] = 0.0  # <-- here
