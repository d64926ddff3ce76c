"""E1002: a class in a kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:

        class C:  # E1002 at 9-16
            pass
