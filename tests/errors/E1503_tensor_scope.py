"""A tensor parameter in shared memory."""
# expect: E1503 in the call

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32, scope="shared")):  # <-- here
    with T.Kernel(1):
        T.clear(A)
