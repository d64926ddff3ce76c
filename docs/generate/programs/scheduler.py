# shows PersistentTileScheduler
import tile_frontend.language as T


@T.prim_func
def example(A: T.Tensor((64, 48), T.float32)):
    result = T.empty((64, 48), T.float32)
    with T.Kernel(2, threads=128) as worker:
        tiles = T.PersistentTileScheduler(4, 3, num_workers=2)
        tiles.init(worker)
        while tiles.valid():
            m, n = tiles.m_idx * 16, tiles.n_idx * 16
            T.copy(A[m : m + 16, n : n + 16], result[m : m + 16, n : n + 16])
            tiles.next_tile()
    return result
