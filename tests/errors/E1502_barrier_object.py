"""A barrier in shared memory."""
# expect: E1502 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        ready = T.alloc_barrier(1)  # <-- here
        T.clear(A)
