"""Every second row of a matrix."""
# expect: E1203 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 64), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 64), T.float32)
        T.copy(A[0:128:2, 0:64], S)  # <-- here
