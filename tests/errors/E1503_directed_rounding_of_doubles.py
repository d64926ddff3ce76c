"""An addition of doubles that rounds upwards."""
# expect: E1503 col 20

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float64)):
    with T.Kernel(1):
        for i in T.Parallel(128):
            A[i] = T.ieee_add(A[i], 1.0, "ru")  # <-- here
