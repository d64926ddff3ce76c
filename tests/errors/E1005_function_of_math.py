"""A function of the module math."""
# expect: E1005 col 16

import math

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = math.sqrt(A[1])  # <-- here
