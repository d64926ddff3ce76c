"""E1414: a layout of another shape."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        S = T.alloc_shared((64, 64), T.float32)
        T.annotate_layout({S: T.Layout((8, 8), lambda i, j: i * 8 + j)})  # E1414 at 9-72
