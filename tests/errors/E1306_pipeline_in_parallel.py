"""A pipeline inside a parallel loop."""
# expect: E1306 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 4), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            for k in T.Pipelined(4, num_stages=2):  # <-- here
                A[i, k] = 0.0
