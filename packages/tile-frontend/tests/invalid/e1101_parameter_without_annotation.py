"""E1101: a parameter whose type nobody knows."""

import tile_frontend.language as T


@T.prim_func
def kernel(A):  # E1101 at 1-14
    with T.Kernel(1) as bx:
        pass
