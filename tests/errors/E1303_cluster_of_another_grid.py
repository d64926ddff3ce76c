"""A cluster that the grid is no multiple of."""
# expect: E1303 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.ClusterKernel(5, cluster_dims=2) as bx:  # <-- here
        A[bx] = 0.0
