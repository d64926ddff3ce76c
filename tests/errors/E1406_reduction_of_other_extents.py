"""A reduction into a tile of another size."""
# expect: E1406 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((64, 32), T.float32)
        total = T.alloc_fragment((32,), T.float32)
        T.copy(A, x)
        T.reduce_sum(x, total, dim=1)  # <-- here
