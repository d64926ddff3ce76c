# shows async_copy, ptx_commit_group, ptx_wait_group
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 64), T.float32)):
    result = T.empty((64, 64), T.float32)
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), T.float32)
        T.async_copy(A[0:64, 0:64], S)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        T.sync_threads()
        T.copy(S, result)
    return result
