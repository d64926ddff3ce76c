"""A schedule whose role has warps that it lacks."""
# expect: E1518 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        producer = T.WSRole("producer", warps_lo=4, warps_hi=12)
        T.annotate_ws_schedule(T.WSSchedule(8, [producer], [], []))  # <-- here
        T.fill(A[0:128], 0.0)
