"""A float shifted to the left."""
# expect: E0205 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.shift_left(A[i], 2)  # <-- here
