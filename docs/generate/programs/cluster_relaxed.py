# shows cluster_arrive_relaxed
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((4, 64), T.float32)):
    result = T.empty((4, 64), T.float32)
    with T.ClusterKernel(4, cluster_dims=2, threads=128) as block:
        own = T.alloc_shared((64,), T.float32)
        got = T.alloc_shared((64,), T.float32)
        T.copy(A[block, 0:64], own)
        T.cluster_arrive_relaxed()
        T.cluster_wait()
        T.copy_cluster(own, got, dst_block=1 - T.block_rank_in_cluster())
        T.cluster_arrive()
        T.cluster_wait()
        T.copy(got, result[block, 0:64])
    return result
