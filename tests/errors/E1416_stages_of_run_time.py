"""A number of stages that is known when the kernel runs only."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), s: T.int32):
    with T.Kernel(1):
        S = T.alloc_shared((16,), T.float32)
        for k in T.Pipelined(4, num_stages=s):  # <-- here
            T.copy(A[k * 16], S)
