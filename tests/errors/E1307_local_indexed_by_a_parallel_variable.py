"""A thread's own array indexed by the variable of a parallel loop."""
# expect: E1307 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        x = T.alloc_local((64,), T.float32)
        for i in T.Parallel(64):
            x[i] = A[i]  # <-- here
