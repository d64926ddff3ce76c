"""A kernel with source text before it."""
# expect: E1503 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, prelude="#define ONE 1"):  # <-- here
        T.clear(A)
