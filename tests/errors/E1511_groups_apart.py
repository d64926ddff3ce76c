"""A role of groups that are no neighbours."""
# expect: E1511 col 14

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=384):
        with T.ws(0, 2):  # <-- here
            T.clear(A)
