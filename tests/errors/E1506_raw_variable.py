"""A variable of another compiler's representation."""
# expect: E1506 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        n = T.Var("n", "int32")  # <-- here
        T.clear(A)
