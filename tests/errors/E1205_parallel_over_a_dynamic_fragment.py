"""A parallel loop of dynamic extent over a fragment."""
# expect: E1205 col 20

import tile_frontend.language as T

M = T.dynamic("M")


@T.prim_func
def kernel(A: T.Tensor((M,), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((64,), T.float32)
        T.clear(x)
        for i in T.Parallel(M):
            A[i] = x[i]  # <-- here
