"""A hand-written schedule of more statements than the loop has."""
# expect: E0435 col 9

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((16,), T.float32)
        for k in T.Pipelined(4, order=[0, 1, 2], stage=[0, 0, 1]):  # <-- here
            T.copy(A[k * 16], S)
            T.copy(S, A[k * 16])


tile.compile(kernel, target="cpu")
