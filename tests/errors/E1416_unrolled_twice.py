"""Both ways of unrolling at once."""
# expect: E1416 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.unroll(64, explicit=True, unroll_factor=4):  # <-- here
            A[i] = 0.0
