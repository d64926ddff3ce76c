"""E1202: an index that is a float."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        x = T.alloc_var(T.float32, init=0)
        A[0, 0] = A[0, x]  # E1202 at 19-25
