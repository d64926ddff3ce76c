"""More threads than a block of the target has."""
# expect: E0614 col 5

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((2048,), T.float32)):
    with T.Kernel(1, threads=2048):  # <-- here
        for i in T.Parallel(2048):
            A[i] = 0.0


tile.compile(kernel, target="cuda -arch=sm_80")
