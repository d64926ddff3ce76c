"""E1411: an atomic update of a value."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        T.atomic_add(bx, 1)  # E1411 at 9-27
