"""A loop that runs beyond a shared tile."""
# expect: E0611 col 13

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((32,), T.float32)
        for i in T.Parallel(32):
            S[i + 32] = A[i]  # <-- here


tile.compile(kernel, target="cpu")
