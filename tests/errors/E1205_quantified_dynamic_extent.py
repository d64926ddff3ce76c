"""A quantifier over as many elements as the caller passes."""
# expect: E1205 col 12

import tile_frontend.language as T

M = T.dynamic("M")


@T.prim_func
def kernel(A: T.Tensor((M,), T.int32)):
    with T.Kernel(1):
        if T.any_of(A):  # <-- here
            A[0] = 1
