"""An atomic update of a fragment, which no other block can see."""
# expect: E1411 col 13

import tile_frontend.language as T


@T.prim_func
def kernel(A: T.Tensor((64,), T.float32)):
    with T.Kernel(1):
        x = T.alloc_fragment((64,), T.float32)
        T.clear(x)
        for i in T.Parallel(64):
            T.atomic_add(x[i], 1.0)  # <-- here
        T.copy(x, A)
