"""A loop over a traced number."""
# expect: E1010 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: T.int32):
    with T.Kernel(1):
        for i in n:  # <-- here
            A[i] = 0.0
