"""E0243: the bits of a float read as a wider integer."""

import tile_frontend.language as T


@T.prim_func
def kernel(I: T.Tensor((64,), T.int32)):
    with T.Kernel(4, threads=32) as bx:
        x = T.alloc_var(T.float32, init=0)
        I[0] = T.reinterpret(x, T.int64)  # E0243 at 16-40
