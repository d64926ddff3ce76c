"""E1307: a local array indexed by a parallel variable."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        L = T.alloc_local((64,), T.float32)
        for i in T.Parallel(64):
            L[i] = A[0, i]  # E1307 at 13-26
