"""An assumption that never holds."""
# expect: E1213 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.assume(1 > 2)  # <-- here
        T.clear(A)
