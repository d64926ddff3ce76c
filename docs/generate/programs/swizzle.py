# shows use_swizzle
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((128, 128), T.float32)):
    result = T.empty((128, 128), T.float32)
    with T.Kernel(8, 8, threads=64) as (x, y):
        T.use_swizzle(4)
        T.copy(A[y * 16 : y * 16 + 16, x * 16 : x * 16 + 16], result[y * 16, x * 16])
    return result
