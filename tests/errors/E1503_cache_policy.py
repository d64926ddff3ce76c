"""An eviction policy that does not exist."""
# expect: E1503 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((128,), T.float32)
        T.copy(A, S, eviction_policy="never")  # <-- here
