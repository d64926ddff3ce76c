"""A kernel with any number of parameters."""
# expect: E1101 col 1

import tile_frontend.language as T


@T.prim_func
def kernel(*tensors):  # <-- here
    with T.Kernel(1):
        T.clear(tensors[0])
