"""One parameter named as an output twice."""
# expect: E1108 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), B: T.Tensor((64,), T.float32)):
    with T.Kernel(64) as bx:
        B[bx] = A[bx]


tile.compile(kernel, out_idx=[1, -1], target="cpu")  # <-- here
