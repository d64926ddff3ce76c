"""The bitwise or of floats."""
# expect: E1407 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 32), T.float32)
        found = T.alloc_fragment((64,), T.float32)
        T.copy(A, x)
        T.reduce_bitor(x, found, dim=1)  # <-- here
