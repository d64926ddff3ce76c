"""`match` inside a kernel."""
# expect: E1002 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1) as bx:
        match bx:  # <-- here
            case 0:
                A[0] = 0.0
