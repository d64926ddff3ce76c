"""A barrier of the threads of a block, written by hand."""
# expect: E1501 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((128,), T.float32)
        T.copy(A, S)
        T.sync_threads()  # <-- here
        T.copy(S, A)
