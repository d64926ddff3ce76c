# shows dynamic
import tile_frontend.language as T

rows, columns = T.dynamic("rows, columns")


@T.prim_func
def example(A: T.Tensor((rows, columns), T.float32)):
    result = T.empty((columns, rows), T.float32)
    with T.Kernel(rows, threads=128) as row:
        for column in T.Parallel(columns):
            result[column, row] = A[row, column]
    return result
