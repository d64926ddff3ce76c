# shows BaseTileScheduler
import tile_frontend.language as T


class RowsFromBelow(T.BaseTileScheduler):
    def __init__(self, rows):
        T.BaseTileScheduler.__init__(self, "rows")
        self._total_tiles = rows
        self.rows = rows

    @T.inline
    def update_current_idx(self, linear_idx):
        self.m_idx = self.rows - 1 - linear_idx
        self.n_idx = 0


@T.prim_func
def example(A: T.Tensor((8, 64), T.float32)):
    result = T.empty((8, 64), T.float32)
    with T.Kernel(2, threads=64) as worker:
        tiles = RowsFromBelow(8)
        tiles.init(worker)
        while tiles.valid():
            T.copy(A[tiles.m_idx, 0:64], result[tiles.linear_idx, 0:64])
            tiles.next_tile(2)
    return result
