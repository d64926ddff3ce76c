"""An output by position for a kernel that makes its outputs."""
# expect: E1108 in the call

import numpy as np

import tile_frontend as tile
import tile_frontend.language as T


@tile.jit(out_idx=0)
def kernel(A):
    A: T.Tensor((64,), T.float32)
    with T.Kernel(1):
        T.clear(A)


kernel(np.zeros(64, np.float32))  # <-- here
