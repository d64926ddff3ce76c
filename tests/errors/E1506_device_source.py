"""A kernel whose body is source text of one device."""
# expect: E1506 col 10

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.CUDASourceCodeKernel(1, threads=128, source_code_or_path=""):  # <-- here
        T.clear(A)
