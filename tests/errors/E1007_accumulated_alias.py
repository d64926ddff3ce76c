"""A sum gathered in a name that is no mutable scalar."""
# expect: E1007 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        total = T.float32(0)
        for i in T.serial(64):
            total = total + A[i]  # <-- here
