"""A function of CUDA C++ text, and a target of another language."""
# expect: E0713 col 13

import tile_frontend as tile
import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.import_source("__device__ float twice(float x) { return x + x; }")
        for i in T.Parallel(128):
            A[i] = T.call_extern("float32", "twice", A[i])  # <-- here


tile.compile(kernel, target="cpu")
