"""An index that is a float."""
# expect: E1202 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            A[i * 2.0] = 0.0  # <-- here
