# shows Ref, SharedBuffer, FragmentBuffer, LocalBuffer
import tile_frontend.language as T


@T.macro
def sum_of(
    tile: T.SharedBuffer((64, 64), T.float32),
    sums: T.FragmentBuffer((64,), T.float32),
    scratch: T.LocalBuffer((1,), T.float32),
    count: T.Ref,
):
    T.reduce_sum(tile, sums, dim=1)
    scratch[0] = 1.0
    count += scratch[0]


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result, counted = T.empty((64,), T.float32), T.empty((1,), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        R = T.alloc_fragment((64,), T.float32)
        L = T.alloc_local((1,), T.float32)
        count = T.alloc_var(T.float32, init=0.0)
        T.copy(A, S)
        sum_of(S, R, L, count)
        T.copy(R, result)
        counted[0] = count
    return result, counted
