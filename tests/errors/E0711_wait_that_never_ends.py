"""Two roles that wait for each other."""
# expect: E0711 col 13

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((128,), T.float32)
        ready = T.alloc_barrier(128)
        done = T.alloc_barrier(128)
        with T.ws(0):
            T.barrier_wait(done, 0)  # <-- here
            T.copy(A, S)
            T.barrier_arrive(ready)
        with T.ws(1):
            T.barrier_wait(ready, 0)
            T.copy(S, A)
            T.barrier_arrive(done)


tile.compile(kernel, target="cuda -arch=sm_90a")
