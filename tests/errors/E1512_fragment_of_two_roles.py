"""Registers that two roles want."""
# expect: E1512 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        F = T.alloc_fragment((128,), T.float32)  # <-- here
        with T.ws(0):
            T.copy(A, F)
        with T.ws(1):
            T.copy(F, A)
