"""E1415: a memory order that does not exist."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.atomic_add(A[0, 0], 1.0, memory_order="strict")  # E1415 at 9-57
