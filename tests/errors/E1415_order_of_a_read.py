"""A memory order that no read has."""
# expect: E1415 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.int32)):
    with T.Kernel(1):
        A[1] = T.atomic_load(A[0], memory_order="release")  # <-- here
