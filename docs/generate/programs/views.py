# shows view, reshape
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((4096,), T.int32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        T.copy(A, S)
        bits = T.view(T.reshape(S, (4096,)), dtype=T.int32)
        T.copy(bits, result)
    return result
