"""E1414: a safe value for a shared tile."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.annotate_safe_value({S: 1.0})  # E1414 at 9-39
