"""A box whose rows the copy engine cannot take."""
# expect: E0712 col 9

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 64), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((32, 3), T.float32)
        ready = T.alloc_barrier(128)
        T.tma_copy(A[0:32, 0:3], S, barrier=ready)  # <-- here
        T.barrier_arrive(ready)
        T.barrier_wait(ready, 0)
        T.copy(S, B[0:32, 0:3])


tile.compile(kernel, target="cuda -arch=sm_90a")
