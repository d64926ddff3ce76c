"""A tile of a convolution's patches."""
# expect: E1505 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((1, 8, 8, 4), T.float16)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 36), T.float16)
        T.im2col(A, S, 0, 0, 3, 1, 1, 1)  # <-- here
