"""A tile with an element for only some of the block's threads."""
# expect: E1204 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        S = T.alloc_shared((64,), T.float32)
        S[tx] = A[tx]  # <-- here
