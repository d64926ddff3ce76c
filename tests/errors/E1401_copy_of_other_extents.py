"""A copy between tiles of different extents."""
# expect: E1401 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((32, 64), T.float32)
        T.copy(A, S)  # <-- here
