"""A traced function that is called without being compiled."""
# expect: E1110 in the call

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


kernel(None)  # <-- here
