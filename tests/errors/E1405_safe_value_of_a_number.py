"""A value for reads outside of something that is no buffer."""
# expect: E1405 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        T.annotate_safe_value({1: 0.0})  # <-- here
        T.clear(A)
