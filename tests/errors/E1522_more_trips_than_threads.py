"""A loop that has more trips than the kernel has threads."""
# expect: E1522 col 9

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((128,), T.float32)):
    with T.Kernel(1, threads=128):
        for t in T.thread_binding(0, 256, thread="threadIdx.x"):  # <-- here
            A[t] = 0.0
