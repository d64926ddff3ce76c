"""A vector bound to a name, some of whose elements may be outside its tensor."""
# expect: E0612 col 9

import tile_frontend as tile
import tile_frontend.language as T

N = T.dynamic("N")


@T.prim_func
def kernel(A: T.Tensor((N,), T.float32), B: T.Tensor((N,), T.float32)):
    with T.Kernel(T.ceildiv(N, 4)) as i:
        four = T.Ramp(i * 4, 1, 4)
        x = A[four]  # <-- here
        B[four] = x


tile.compile(kernel, target="cpu")
