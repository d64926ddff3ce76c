"""A word of 32 bits of elements of 64."""
# expect: E1422 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float64)):
    with T.Kernel(1):
        x = T.ldg32(A[0])  # <-- here
        T.clear(A)
