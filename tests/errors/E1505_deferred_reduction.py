"""A reduction that gathers contributions of a loop."""
# expect: E1505 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        total = T.alloc_reducer((1,), T.float32, op="sum")  # <-- here
        T.clear(A)
