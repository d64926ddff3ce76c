"""E1104: a T.const where no argument exists yet."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    M = T.const("M")  # E1104 at 9-20
    with T.Kernel(M) as bx:
        A[0] = 1.0
