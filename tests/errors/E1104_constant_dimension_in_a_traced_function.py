"""`T.const` where no argument exists yet."""
# expect: E1104 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    M = T.const("M")  # <-- here
    with T.Kernel(1):
        T.clear(A)
