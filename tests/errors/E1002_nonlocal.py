"""A name of the enclosing function that a kernel binds."""
# expect: E1002 col 9

import tile_frontend.language as T


def enclosing():
    count = 0

    @T.prim_func
    def kernel(A: T.Tensor((64,), T.float32)):
        nonlocal count  # <-- here
        with T.Kernel(1):
            count = A[0]

    return kernel, count


enclosing()
