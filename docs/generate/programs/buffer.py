# shows Buffer
import tile_frontend.language as T


@T.prim_func
def example(A: T.Buffer((64, 64), "float32")):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(4, threads=128) as block:
        T.copy(A[block * 16 : block * 16 + 16, :], result[block * 16 : block * 16 + 16, :])
    return result
