"""E1503: a conversion with stochastic rounding."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        x = T.alloc_var(T.float32, init=0)
        A[0, 0] = T.cast(x, T.float16, round="rs")  # E1503 at 19-50
