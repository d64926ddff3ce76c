"""A tensor of a pointer whose rows lie further apart."""
# expect: E1516 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(a: T.ptr, B: T.Tensor((4,), T.float32)):
    A = T.make_tensor(a, (4, 4), T.float32, strides=(8, 1))  # <-- here
    with T.Kernel(4) as bx:
        B[bx] = A[bx, 0]
