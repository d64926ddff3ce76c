# shows inline
import tile_frontend.language as T


class Scale:
    def __init__(self, factor):
        self.factor = factor

    @T.inline
    def apply(self, tile):
        for i, j in T.Parallel(64, 64):
            tile[i, j] = tile[i, j] * self.factor


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        F = T.alloc_fragment((64, 64), T.float32)
        T.copy(A, F)
        Scale(3.0).apply(F)
        T.copy(F, result)
    return result
