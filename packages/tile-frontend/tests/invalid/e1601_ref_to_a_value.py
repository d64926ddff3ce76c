"""E1601: a reference to something that cannot be assigned to."""

import tile_frontend.language as T


@T.macro
def increment(v: T.Ref):
    v = v + 1


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        increment(bx)  # E1601 at 9-21
