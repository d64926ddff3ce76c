"""A contribution to a reducer that every thread would make."""
# expect: E1418 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        acc = T.alloc_reducer((64,), T.float32)
        T.reducer_init(acc)
        T.reducer_update(acc[0], 1.0)  # <-- here
        T.finalize_reducer(acc, A)
