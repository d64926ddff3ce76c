"""`try` inside a kernel."""
# expect: E1002 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        try:  # <-- here
            A[0] = 0.0
        finally:
            A[1] = 0.0
