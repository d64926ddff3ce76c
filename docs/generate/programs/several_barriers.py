# shows create_barriers
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        both = T.create_barriers(128, 128)
        T.tma_copy(A[0:64, 0:64], S, barrier=both[0])
        T.barrier_arrive(both[0])
        T.barrier_wait(both[0], 0)
        T.copy(S, F)
        T.barrier_arrive(both[1])
        T.copy(F, result)
    return result
