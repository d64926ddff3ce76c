"""E1004: a plain Python function branching on a traced value."""

import tile_frontend.language as T


def relu(v):
    return v if v > 0 else 0.0  # E1004 at 17-21


@T.prim_func
def kernel(A: T.Tensor((64, 64), T.float32)):
    with T.Kernel(4, threads=32) as bx:
        A[0, 0] = relu(A[0, 1])
