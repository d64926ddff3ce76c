"""Annotations that name passes of another compiler."""
# expect: E1503 col 18

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        for i in T.serial(128, annotations={"pragma": 1}):  # <-- here
            A[i] = 0.0
