"""A hand-written schedule together with a number of stages."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((16,), T.float32)
        for k in T.Pipelined(4, num_stages=2, order=[0, 1], stage=[0, 1]):  # <-- here
            T.copy(A[k * 16], S)
            T.copy(S, A[k * 16])
