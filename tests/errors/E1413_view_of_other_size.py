"""A view with more elements than its buffer."""
# expect: E1413 col 16

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64, 32), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((64, 32), T.float32)
        flat = T.reshape(S, (4096,))  # <-- here
        T.copy(A, S)
