"""A name that the language does not have."""
# expect: E1504 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.aloc_shared((128,), T.float32)  # <-- here
