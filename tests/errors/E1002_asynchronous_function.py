"""A kernel that is a coroutine."""
# expect: E1002 col 1

import tile_frontend.language as T


@T.prim_func
async def kernel(A: T.Tensor((64,), T.float32)):  # <-- here
    with T.Kernel(1):
        T.clear(A)
