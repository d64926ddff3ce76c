# shows macro, Macro
import tile_frontend.language as T


@T.macro
def scaled(tile, factor):
    for i, j in T.Parallel(64, 64):
        tile[i, j] = tile[i, j] * factor


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        F = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, F)
        scaled(F, 3.0)
        T.copy(F, result)
    return result


assert isinstance(scaled, T.Macro)
