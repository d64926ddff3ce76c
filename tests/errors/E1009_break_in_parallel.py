"""`break` out of a parallel loop."""
# expect: E1009 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            if A[i] > 0:
                break  # <-- here
