"""A tensor declared in the body that is no parameter."""
# expect: E1102 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    B: T.Tensor((64,), T.float32)  # <-- here
    with T.Kernel(1):
        T.copy(A, B)
