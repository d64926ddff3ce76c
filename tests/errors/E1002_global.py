"""A global name that a kernel binds."""
# expect: E1002 col 5

import tile_frontend.language as T

count = 0


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    global count  # <-- here
    with T.Kernel(1):
        count = A[0]
