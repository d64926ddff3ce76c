"""A tensor made of an address that is read from memory."""
# expect: E1505 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((8,), T.int64), B: T.Tensor((128,), T.float32)):
    with T.Kernel(8) as bx:
        C = T.make_tensor(A[bx], (128,), T.float32)  # <-- here
        B[bx] = C[0]
