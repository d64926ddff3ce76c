# shows Layout, annotate_layout
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        T.annotate_layout({S: T.Layout((64, 64), lambda i, j: i * 72 + j)})
        T.copy(A, S)
        for i, j in T.Parallel(64, 64):
            result[i, j] = S[j, i]
    return result
