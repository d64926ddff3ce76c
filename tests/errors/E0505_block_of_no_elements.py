"""The grid is divided by a block of size zero."""
# expect: E0505 col 19

import tile_frontend.language as T

block = 0


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(T.ceildiv(64, block)) as b:  # <-- here
        A[b] = 0.0
