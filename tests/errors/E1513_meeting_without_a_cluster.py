"""A wait for the blocks of a cluster, in a kernel that has none."""
# expect: E1513 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(4) as bx:
        T.cluster_sync()  # <-- here
        A[bx] = 0.0
