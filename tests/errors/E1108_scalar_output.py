"""A scalar named as an output."""
# expect: E1108 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32), n: T.int32):
    with T.Kernel(1):
        T.fill(A, n)


tile.compile(kernel, out_idx=1, target="cpu")  # <-- here
