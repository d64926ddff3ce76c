# shows gemm_sp
import tile_frontend.language as T


@T.prim_func
def example(
    A: T.Tensor((64, 32), T.float16),
    E: T.Tensor((64, 4), T.int16),
    B: T.Tensor((64, 64), T.float16),
):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        kept = T.alloc_shared((64, 32), T.float16)
        places = T.alloc_shared((64, 4), T.int16)
        right = T.alloc_shared((64, 64), T.float16)
        F = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, kept)
        T.copy(E, places)
        T.copy(B, right)
        T.clear(F)
        T.gemm_sp(kept, places, right, F)
        T.copy(F, result)
    return result
