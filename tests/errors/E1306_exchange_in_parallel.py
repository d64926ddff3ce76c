"""Threads of a warp that exchange registers between iterations."""
# expect: E1306 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.shfl_xor(A[i], 1)  # <-- here
