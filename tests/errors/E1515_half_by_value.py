"""A number that a function of C++ cannot take."""
# expect: E1515 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.call_extern("float32", "my_function", A[i])  # <-- here
