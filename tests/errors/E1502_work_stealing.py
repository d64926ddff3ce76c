"""A query of the launch engine for more work."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.clc_try_cancel(A, A)  # <-- here
