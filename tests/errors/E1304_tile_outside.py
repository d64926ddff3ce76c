"""A shared tile made before the kernel."""
# expect: E1304 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    S = T.alloc_shared((64,), T.float32)  # <-- here
    with T.Kernel(1):
        T.copy(A, S)
