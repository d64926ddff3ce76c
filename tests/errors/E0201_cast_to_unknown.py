"""A conversion to an element type that does not exist."""
# expect: E0201 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.cast(A[i], "int7")  # <-- here
