"""T.parallel for T.Parallel."""
# expect: E1506 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.parallel(64):  # <-- here
            A[i] = 0.0
