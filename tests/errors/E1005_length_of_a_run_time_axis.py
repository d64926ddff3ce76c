"""Python's len of an axis that is known when the kernel runs."""
# expect: E1005 col 29

import tile_frontend.language as T

N = T.dynamic("N")


@T.prim_func
def kernel(A: T.Tensor((N,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(len(A)):  # <-- here
            A[i] = 0.0
