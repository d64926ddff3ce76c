"""A loop over the elements of a buffer."""
# expect: E1010 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for x in A:  # <-- here
            x = 0.0
