"""A copy engine that should reach registers."""
# expect: E1514 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        F = T.alloc_fragment((128,), T.float32)
        T.tma_copy(A, F, barrier=T.alloc_barrier(128))  # <-- here
