"""A fragment as large as the caller says."""
# expect: E1305 col 13

import tile_frontend.language as T

M = T.dynamic("M")


@T.prim_func
def kernel(A: T.Tensor((M,), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((M,), T.float32)  # <-- here
        T.copy(A, x)
