"""A `T.const` dimension that no argument tells."""
# expect: E1104 col 5

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def kernel(A):
    M, N = T.const("M, N")  # <-- here
    A: T.Tensor((M,), T.float32)
    with T.Kernel(1):
        T.fill(A, N)


kernel(np.zeros(4, np.float32))
