"""An output by position beside one that the kernel makes."""
# expect: E1108 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    B = T.empty((64,), T.float32)
    with T.Kernel(64) as bx:
        B[bx] = A[bx]
    return B


tile.compile(kernel, out_idx=0, target="cpu")  # <-- here
