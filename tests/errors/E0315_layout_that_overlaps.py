"""A layout that puts two elements in one place."""
# expect: E0315 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float32)
        T.annotate_layout({S: T.Layout((64, 32), lambda i, j: i + j)})  # <-- here
        T.copy(A, S)
