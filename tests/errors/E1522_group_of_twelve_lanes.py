"""An exchange within groups of lanes that do not divide a warp."""
# expect: E1522 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        A[tx] = T.shfl_sync(A[tx], 0, width=12)  # <-- here
