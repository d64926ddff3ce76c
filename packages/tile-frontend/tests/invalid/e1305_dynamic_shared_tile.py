"""E1305: a shared tile of run-time size."""

import tile_frontend.language as T

m = T.dynamic("m")


@T.prim_func
def kernel(A: T.Tensor((m,), T.float32)):
    with T.Kernel(1) as bx:
        S = T.alloc_shared((m,), T.float32)  # E1305 at 13-43
        T.copy(A, S)
