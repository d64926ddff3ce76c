"""E1304: a shared tile outside any kernel."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    S = T.alloc_shared((64,), T.float32)  # E1304 at 9-40
    with T.Kernel(1) as bx:
        T.copy(A, S)
