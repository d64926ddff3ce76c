"""A comprehension that filters by a traced value."""
# expect: E1004 col 45

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        chosen = [A[i] for i in range(4) if A[i] > 0]  # <-- here
        A[0] = chosen[0]
