"""A tile with more axes than the tensor that it comes from."""
# expect: E1401 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((4, 16), T.float32)
        T.copy(A[0], S)  # <-- here
