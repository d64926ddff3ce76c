"""A tile in a memory that one family of devices has."""
# expect: E1502 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128, 128), T.float32)):
    with T.Kernel(1):
        C = T.alloc_tmem((128, 128), T.float32)  # <-- here
        T.copy(C, A)
