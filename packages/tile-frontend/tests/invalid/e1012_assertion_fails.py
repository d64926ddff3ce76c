"""E1012: an assertion that Python can decide."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        width = 63
        assert width % 2 == 0, "width must be even"  # E1012 at 9-51
        A[0, 0] = 1.0
