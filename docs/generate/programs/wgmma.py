# shows wgmma_gemm, wgmma_mma, wait_wgmma
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 32), T.float16), B: T.Tensor((32, 64), T.float16)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 32), T.float16)
        S2 = T.alloc_shared((32, 64), T.float16)
        F = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, S)
        T.copy(B, S2)
        T.clear(F)
        T.wgmma_gemm(S, S2, F)
        T.wait_wgmma(0)
        T.copy(F, result)
    return result
