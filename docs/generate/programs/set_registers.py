# shows set_max_nreg
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((64, 64), T.float32)
        F = T.alloc_fragment((64, 64), T.float32)
        ready = T.alloc_barrier(128)
        with T.ws(1):
            T.set_max_nreg(40, 0)
            T.tma_copy(A[0:64, 0:64], S, barrier=ready)
            T.barrier_arrive(ready)
        with T.ws(0):
            T.set_max_nreg(240, 1)
            T.barrier_wait(ready, 0)
            T.copy(S, F)
            T.copy(F, result)
    return result
