"""A parameter that is annotated with text of no type."""
# expect: E1102 col 1

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: "many"):  # <-- here
    with T.Kernel(1):
        T.fill(A, n)
