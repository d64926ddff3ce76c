"""A conditional expression on a traced value in a lambda."""
# expect: E1004 col 28

import tile_frontend.language as T

larger = lambda a, b: a if a > b else b  # noqa: E731  # <-- here


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = larger(A[1], A[2])
