"""A comprehension over a loop of the language."""
# expect: E1013 cols 18 or 33

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        values = [A[i] for i in T.serial(4)]  # <-- here
        A[0] = values[0]
