"""E1009: a continue in T.Pipelined."""

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        for k in T.Pipelined(4, num_stages=2):
            if k > 2:
                continue  # E1009 at 17-24
            A[1, k] = 1.0
