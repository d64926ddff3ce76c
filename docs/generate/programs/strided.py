# shows StridedTensor
import tile_frontend.language as T

pitch = T.dynamic("pitch")


@T.prim_func
def example(A: T.StridedTensor((64, 64), (pitch, 1), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(64, threads=64) as row:
        for column in T.Parallel(64):
            result[row, column] = A[row, column] * 2.0
    return result
