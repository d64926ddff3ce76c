"""A value for reads outside a shared tile."""
# expect: E1414 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float32)
        T.annotate_safe_value({S: 1.0})  # <-- here
        T.copy(A, S)
