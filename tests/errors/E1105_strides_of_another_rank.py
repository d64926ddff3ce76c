"""A tensor with fewer strides than axes."""
# expect: E1105 col 15

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.StridedTensor((8, 8), (1,), T.float32)):  # <-- here
    with T.Kernel(1):
        T.clear(A)
