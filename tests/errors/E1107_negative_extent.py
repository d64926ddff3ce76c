"""A tensor with a negative extent."""
# expect: E1107 col 15

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((-4,), T.float32)):  # <-- here
    with T.Kernel(1):
        T.clear(A)
