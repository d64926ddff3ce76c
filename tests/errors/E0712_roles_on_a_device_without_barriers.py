"""Roles on a device whose threads cannot wait for some of each other."""
# expect: E0712 col 9

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((128,), T.float32)
        ready = T.alloc_barrier(128)
        with T.ws(0):  # <-- here
            T.copy(A, S)
            T.barrier_arrive(ready)
        with T.ws(1):
            T.barrier_wait(ready, 0)
            T.copy(S, A)


tile.compile(kernel, target="cpu")
