"""A kernel that asks which thread it is."""
# expect: E1501 col 14

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()  # <-- here
        A[tx] = 0.0
