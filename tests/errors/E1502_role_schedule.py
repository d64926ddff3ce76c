"""A hand-written plan of roles."""
# expect: E1502 col 32

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.annotate_ws_schedule(T.WSSchedule(8, [], [], []))  # <-- here
        T.clear(A)
