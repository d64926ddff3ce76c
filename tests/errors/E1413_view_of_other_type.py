"""A view as a wider type with the same shape."""
# expect: E1413 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float16)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float16)
        words = T.view(S, dtype=T.int32)  # <-- here
        T.copy(A, S)
