"""A mutable scalar indexed like an array."""
# expect: E1201 col 11

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        count = T.alloc_var(T.int32, init=0)
        A[count[1]] = 0.0  # <-- here
