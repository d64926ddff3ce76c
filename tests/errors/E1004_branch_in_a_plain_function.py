"""`if` on a traced value in a function that is not traced."""
# expect: E1004 col 8

import tile_frontend.language as T


def larger(a, b):
    if a > b:  # <-- here
        return a
    return b


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = larger(A[1], A[2])
