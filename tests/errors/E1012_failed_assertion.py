"""An assertion that fails while the kernel is traced."""
# expect: E1012 col 5

import tile_frontend.language as T

block = 48


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    assert 64 % block == 0, "the tile divides the tensor"  # <-- here
    with T.Kernel(1):
        T.clear(A)
