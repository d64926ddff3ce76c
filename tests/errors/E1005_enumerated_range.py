"""Python's `enumerate` over a traced number of items."""
# expect: E1005 col 31

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: T.int32):
    with T.Kernel(1):
        for i, j in enumerate(range(n)):  # <-- here
            A[i] = j
