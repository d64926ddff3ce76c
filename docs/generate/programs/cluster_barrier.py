# shows alloc_cluster_barrier
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((4, 64), T.float32)):
    result = T.empty((4, 64), T.float32)
    with T.ClusterKernel(4, cluster_dims=2, threads=128) as block:
        own = T.alloc_shared((64,), T.float32)
        got = T.alloc_shared((64,), T.float32)
        ready = T.alloc_cluster_barrier(256)
        rank = T.block_rank_in_cluster()
        T.copy(A[block, 0:64], own)
        T.cluster_sync()
        T.copy_cluster(own, got, dst_block=1 - rank)
        T.mbarrier_arrive(ready, rank)
        T.mbarrier_arrive(ready, 1 - rank)
        T.mbarrier_wait_parity(ready, 0)
        T.copy(got, result[block, 0:64])
    return result
