"""A traced loop before the kernel."""
# expect: E1302 col 5

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    for i in T.serial(4):  # <-- here
        A[i] = 0.0
    with T.Kernel(4) as bx:
        A[bx] = 1.0
