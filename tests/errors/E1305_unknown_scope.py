"""A buffer in a memory that does not exist."""
# expect: E1305 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_buffer((64,), T.float32, scope="texture")  # <-- here
        T.copy(A, S)
