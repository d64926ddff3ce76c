"""A layout that does not cover its tile."""
# expect: E1414 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float32)
        T.annotate_layout({S: T.Layout((32, 32), lambda i, j: i * 32 + j)})  # <-- here
        T.copy(A, S)
