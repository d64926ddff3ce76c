"""A decision pinned under a key that the compiler does not know."""
# expect: E0701 col 1

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        T.clear(A)


tile.compile(kernel, target="cpu", plan={"no.such.decision": 3})  # <-- here
