"""A variable of which each role has its own, read when they are done."""
# expect: E1512 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        n = T.alloc_var(T.int32, init=0)
        with T.ws(0):
            n = n + 1
            T.clear(A)
        A[n] = 1.0  # <-- here
