"""A store that is outside its tensor whenever it is reached."""
# expect: E0611 col 9

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(4) as bx:
        A[128] = 0.0  # <-- here


tile.compile(kernel, target="cpu")
