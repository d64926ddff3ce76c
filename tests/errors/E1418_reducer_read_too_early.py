"""A reducer that is copied from before it is closed."""
# expect: E1418 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        acc = T.alloc_reducer((64,), T.float32)
        T.reducer_init(acc)
        T.copy(acc, A)  # <-- here
