"""A matrix instruction, written by hand."""
# expect: E1502 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float16)):
    with T.Kernel(1):
        T.ptx_mma("float16", "m16n8k16")  # <-- here
