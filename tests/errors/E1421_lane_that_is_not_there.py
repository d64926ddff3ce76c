"""The fifth lane of four."""
# expect: E1421 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        A[0] = T.extract_lane(A[T.Ramp(0, 1, 4)], 4)  # <-- here
