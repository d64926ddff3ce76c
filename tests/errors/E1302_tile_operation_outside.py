"""A tile operation before the kernel."""
# expect: E1302 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    T.clear(A)  # <-- here
    with T.Kernel(4) as bx:
        A[bx] = 1.0
