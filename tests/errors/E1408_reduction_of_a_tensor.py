"""A reduction of a global tensor."""
# expect: E1408 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        total = T.alloc_fragment((64,), T.float32)
        T.reduce_sum(A, total, dim=1)  # <-- here
