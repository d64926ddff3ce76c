# shows const
import tile_frontend as tile
import tile_frontend.language as T


@tile.jit
def example(A):
    rows, columns = T.const("rows, columns")
    A: T.Tensor((rows, columns), T.float32)
    result = T.empty((rows,), T.float32)
    with T.Kernel(rows, threads=128) as row:
        values = T.alloc_fragment((1, columns), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        T.copy(A[row, 0], values)
        T.reduce_sum(values, total, dim=1)
        T.copy(total, result[row])
    return result
