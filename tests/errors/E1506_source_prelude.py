"""Device source that is put in front of the kernel."""
# expect: E1506 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1):
        T.import_source("#define ONE 1")  # <-- here
        T.clear(A)
