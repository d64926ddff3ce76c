# shows Fragment
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((128,), T.float32)):
    result = T.empty((128,), T.float32)
    with T.Kernel(1, threads=128):
        F = T.alloc_fragment((128,), T.float32)
        for i in T.Parallel(128, loop_layout=T.Fragment((128,), forward_fn=lambda i: (i, 0))):
            F[i] = A[i] + 1.0
        T.copy(F, result)
    return result
