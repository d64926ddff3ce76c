"""A thread's copy of a few elements that does not go to shared memory."""
# expect: E1514 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_fragment((128,), T.float32)
        T.ptx_cp_async(S, A, 16)  # <-- here
