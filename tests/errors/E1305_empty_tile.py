"""A shared tile without elements."""
# expect: E1305 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((0, 4), T.float32)  # <-- here
        T.clear(A)
