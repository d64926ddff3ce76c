# shows Kernel, prim_func, PrimFunc, Tensor, empty, alloc_shared
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((100, 64), T.float32)):
    result = T.empty((100, 64), T.float32)
    with T.Kernel(T.ceildiv(100, 32), threads=128) as block:
        tile = T.alloc_shared((32, 64), T.float32)
        T.copy(A[block * 32, 0], tile)
        T.copy(tile, result[block * 32, 0])
    return result


assert isinstance(example, T.PrimFunc)
