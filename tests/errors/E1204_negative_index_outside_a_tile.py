"""An index that counts back beyond the first element of a tile."""
# expect: E1204 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((32,), T.float32)
        T.clear(S)
        A[0] = S[-33]  # <-- here
