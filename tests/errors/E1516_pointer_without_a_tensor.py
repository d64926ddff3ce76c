"""A pointer whose shape the body never says."""
# expect: E1516 col 1

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.ptr, B: T.Tensor((128,), T.float32)):  # <-- here
    with T.Kernel(1):
        T.fill(B[0:128], 0.0)
