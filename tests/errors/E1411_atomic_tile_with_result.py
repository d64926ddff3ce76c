"""Previous values of an atomic update of a whole tile."""
# expect: E1411 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((64,), T.float32)
        T.clear(x)
        T.atomic_add(A[0:64], x, return_prev=True)  # <-- here
