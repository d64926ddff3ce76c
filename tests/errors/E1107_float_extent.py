"""A tensor with an extent that is a float."""
# expect: E1107 col 15

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64 / 2,), T.float32)):  # <-- here
    with T.Kernel(1):
        T.clear(A)
