"""`continue` in a loop whose iterations overlap."""
# expect: E1009 col 17

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        S = T.alloc_shared((16,), T.float32)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k * 16], S)
            if k > 2:
                continue  # <-- here
            T.copy(S, A[k * 16])
