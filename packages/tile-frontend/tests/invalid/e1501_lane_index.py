"""E1501: the index of a lane."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        lane = T.get_lane_idx()  # E1501 at 16-31
