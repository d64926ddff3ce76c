"""A loop over the elements of a tile that reads what each thread has for itself."""
# expect: E1521 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        own = T.alloc_local((1,), T.float32)
        own[0] = T.cast(T.get_thread_binding(), T.float32)
        for i in T.Parallel(128):  # <-- here
            A[i] = own[0]
