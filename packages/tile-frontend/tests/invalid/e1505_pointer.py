"""E1505: a tensor made of an address."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.int64)):
    with T.Kernel(4, threads=32) as bx:
        B = T.make_tensor(A[bx], (64,), T.float32)  # E1505 at 13-50
