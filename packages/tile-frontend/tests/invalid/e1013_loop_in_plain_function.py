"""E1013: a loop of the language in a plain function."""

import tile_frontend.language as T


def clear_row(B):
    for i in T.serial(64):  # E1013 at 5-26
        B[0, i] = 0.0


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        clear_row(A)
