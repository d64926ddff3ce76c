"""A tensor of an element type that does not exist."""
# expect: E0201 in the call

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), "float12")):  # <-- here
    with T.Kernel(1):
        T.clear(A)
