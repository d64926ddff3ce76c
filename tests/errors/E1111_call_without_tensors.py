"""A kernel called with dimensions and without its tensors."""
# expect: E1111 col 1

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    M = T.const("M")
    A: T.Tensor((M,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(M=64)  # <-- here
