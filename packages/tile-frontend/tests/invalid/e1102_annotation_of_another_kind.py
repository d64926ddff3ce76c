"""E1102: a parameter annotated with text."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: 3):  # E1102 at 1-17
    with T.Kernel(1) as bx:
        pass
