"""`T.fill` of a value that is no buffer."""
# expect: E1405 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        T.fill(bx, 0)  # <-- here
