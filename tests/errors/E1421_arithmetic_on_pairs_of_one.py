"""Arithmetic on pairs, of single elements."""
# expect: E1421 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            A[i] = T.add2(A[i], A[i])  # <-- here
