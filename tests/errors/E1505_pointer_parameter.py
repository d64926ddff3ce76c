"""A parameter that is a raw pointer."""
# expect: E1505 in the call

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.ptr(T.float32)):  # <-- here
    with T.Kernel(1):
        T.clear(A)
