"""A tile operation of all threads where the roles are apart."""
# expect: E1512 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((128,), T.float32)
        for _ in T.serial(4):
            with T.ws(0):
                T.copy(A, S)
            T.clear(A)  # <-- here
            with T.ws(1):
                T.copy(S, A)
