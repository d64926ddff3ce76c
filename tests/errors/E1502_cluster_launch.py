"""Blocks launched in clusters."""
# expect: E1502 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.ClusterKernel(4, cluster_dims=2) as bx:  # <-- here
        A[bx] = 0.0
