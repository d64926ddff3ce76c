"""A kernel that is launched where a condition of run time holds."""
# expect: E1301 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: T.int32):
    if n > 0:
        with T.Kernel(4) as bx:  # <-- here
            A[bx] = 0.0
