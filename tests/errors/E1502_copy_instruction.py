"""A single copy instruction of one device."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((128,), T.float32)
        T.ptx_cp_async(S, A, 16)  # <-- here
