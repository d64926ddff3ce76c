"""A tile operation inside a parallel loop."""
# expect: E1306 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64,), T.float32)
        for i in T.Parallel(64):
            T.copy(A[i, 0], S)  # <-- here
