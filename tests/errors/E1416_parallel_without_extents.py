"""A parallel loop over nothing."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel():  # <-- here
            A[i] = 0.0
