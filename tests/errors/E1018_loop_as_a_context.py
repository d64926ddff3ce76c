"""`with` on a loop."""
# expect: E1018 cols 9 or 14

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        with T.Parallel(64) as i:  # <-- here
            A[i] = 0.0
