"""`:=` hidden in a comprehension."""
# expect: E1002 col 21

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        squares = [(y := i) * y for i in range(4)]  # <-- here
        A[0] = squares[1]
