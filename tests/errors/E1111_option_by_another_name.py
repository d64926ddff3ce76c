"""An option of a loop, misspelt."""
# expect: E1111 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        for k in T.Pipelined(4, stages=3):  # <-- here
            A[k, 0] = 0.0
