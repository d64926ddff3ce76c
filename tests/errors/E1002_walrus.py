"""`:=` inside a kernel."""
# expect: E1002 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        if (x := A[0]) > 0:  # <-- here
            A[1] = x
