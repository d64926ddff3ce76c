"""Work of all threads that one shall do."""
# expect: E1511 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        if T.shuffle_elect(0):
            T.clear(A)  # <-- here
