"""A list as long as a traced value."""
# expect: E1005 col 25

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: T.int32):
    with T.Kernel(1):
        A[0] = len(list(range(n)))  # <-- here
