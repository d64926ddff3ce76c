"""A budget of registers for nobody in particular."""
# expect: E1511 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.set_max_nreg(240, True)  # <-- here
        T.clear(A)
