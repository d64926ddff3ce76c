"""A layout for a global tensor."""
# expect: E1414 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        T.annotate_layout({A: T.Layout((64, 32), lambda i, j: i * 32 + j)})  # <-- here
        T.clear(A)
