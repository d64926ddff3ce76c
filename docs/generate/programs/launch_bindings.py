# shows get_block_binding, get_block_bindings
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((4, 64), T.float32)):
    result = T.empty((4, 64), T.float32)
    with T.Kernel(2, 4, threads=64):
        half = T.get_block_binding(0) * 32
        _, row = T.get_block_bindings()
        T.copy(A[row, half : half + 32], result[row, half : half + 32])
    return result
