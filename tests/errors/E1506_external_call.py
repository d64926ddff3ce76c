"""A call of a device function by its name."""
# expect: E1506 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.call_extern("float32", "my_function", A[i])  # <-- here
