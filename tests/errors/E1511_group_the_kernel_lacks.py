"""A role for threads that the kernel was not launched with."""
# expect: E1511 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        with T.ws(1):  # <-- here
            T.clear(A)
