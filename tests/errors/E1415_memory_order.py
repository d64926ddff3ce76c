"""A memory order that does not exist."""
# expect: E1415 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.int32)):
    with T.Kernel(1):
        T.atomic_add(A[0], 1, memory_order="strict")  # <-- here
