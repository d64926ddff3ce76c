"""A step that is known when the kernel runs only."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), s: T.int32):
    with T.Kernel(1):
        for i in range(0, 64, s):  # <-- here
            A[i] = 0.0
