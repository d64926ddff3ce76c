"""A grid of four axes."""
# expect: E1303 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1, 2, 3, 4):  # <-- here
        T.clear(A)
