"""A fragment made inside a parallel loop."""
# expect: E1306 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(64):
            x = T.alloc_fragment((4,), T.float32)  # <-- here
            A[i] = 0.0
