"""Waiting for a tensor."""
# expect: E1513 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for k in T.serial(4):
            T.mbarrier_wait_parity(A, k % 2)  # <-- here
