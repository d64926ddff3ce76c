"""An atomic addition to a truth value."""
# expect: E1411 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.bool)):
    with T.Kernel(1):
        T.atomic_add(A[0], 1)  # <-- here
