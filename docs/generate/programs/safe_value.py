# shows annotate_safe_value
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((50,), T.float32)):
    result = T.empty((64,), T.float32)
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), T.float32)
        T.annotate_safe_value({A: -1.0})
        T.copy(A[0], S)
        T.copy(S, result)
    return result
