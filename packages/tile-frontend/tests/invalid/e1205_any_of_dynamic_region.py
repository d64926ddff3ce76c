"""E1205: a region of traced extent where a constant one is needed."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32), n: T.int32):
    with T.Kernel(4, threads=32) as bx:
        x = T.alloc_var(T.float32, init=0)
        x = T.any_of(A[0, 0:n])  # E1205 at 13-31
