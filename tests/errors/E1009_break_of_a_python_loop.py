"""`break` by a condition of run time out of a loop that runs while tracing."""
# expect: E1009 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in range(4):
            if A[i] > 0:
                break  # <-- here
