"""An atomic update of a value that has no place in memory."""
# expect: E1411 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        T.atomic_add(bx + 1, 1)  # <-- here
        T.clear(A)
