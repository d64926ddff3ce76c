"""A copy of as many elements as the caller passes into a fixed tile."""
# expect: E1401 col 9

import tile_frontend.language as T

M = T.dynamic("M")


@T.prim_func
def kernel(A: T.Tensor((M,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64,), T.float32)
        T.copy(A[0:M], S)  # <-- here
