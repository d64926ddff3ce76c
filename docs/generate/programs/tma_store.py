# shows tma_copy, tma_store_arrive, tma_store_wait, fence_proxy_async
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        T.copy(A, S)
        for i, j in T.Parallel(64, 64):
            S[i, j] = S[i, j] * 2.0
        T.fence_proxy_async()
        T.tma_copy(S, result[0:64, 0:64])
        T.tma_store_arrive()
        T.tma_store_wait(0)
    return result
