"""A view of part of a buffer."""
# expect: E1405 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float32)
        flat = T.reshape(S[0:32, 0:32], (1024,))  # <-- here
        T.copy(A, S)
