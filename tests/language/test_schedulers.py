"""Tile schedulers: persistent blocks visit every tile once, in the order that is asked for, and
classes of one's own with state.
"""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError

ROWS, COLUMNS, WORKERS = 5, 7, 3


def order(rows, columns, swizzle, column_major):
    """The tiles in the order of their indices, by walking the panels."""
    along, across = (rows, columns) if column_major else (columns, rows)
    walked = [
        (a, c)
        for first in range(0, across, swizzle)
        for a in range(along)
        for c in range(first, min(first + swizzle, across))
    ]
    return walked if column_major else [(c, a) for a, c in walked]


@pytest.mark.parametrize("column_major", [True, False])
@pytest.mark.parametrize("swizzle", [1, 2, 3, 16])
def test_every_tile_is_visited_once_in_order(run, swizzle, column_major):
    @T.prim_func
    def kernel():
        M = T.empty((ROWS, COLUMNS), T.int32)
        with T.Kernel(WORKERS, threads=32) as w:
            tiles = T.PersistentTileScheduler(
                "tiles", ROWS, COLUMNS, swizzle_size=swizzle, column_major=column_major
            )
            tiles.init(w)
            while tiles.valid():
                m, n = tiles.m_idx[0], tiles.n_idx
                M[m, n] = tiles.linear_idx * 100 + tiles.current_iter
                tiles.next_tile()
        return M

    (m,) = run(kernel)
    want = np.zeros((ROWS, COLUMNS), np.int32)
    for index, place in enumerate(order(ROWS, COLUMNS, swizzle, column_major)):
        want[place] = index * 100 + index // WORKERS
    np.testing.assert_array_equal(m, want)


def test_clusters_share_rows_of_tiles(run):
    @T.prim_func
    def kernel(rows: T.int32):
        M = T.empty((8, COLUMNS), T.int32)
        with T.Kernel(4, threads=32) as w:
            tiles = T.PersistentTileScheduler(rows, COLUMNS, cluster_size=2, swizzle_size=2)
            tiles.init(w // 2)
            while tiles.valid():
                row = tiles.m_idx * 2 + w % 2
                if row < rows:
                    M[row, tiles.n_idx] = w // 2
                tiles.next_tile()
        return M

    (m,) = run(kernel, 8)
    want = np.zeros((8, COLUMNS), np.int32)
    for index, (row, column) in enumerate(order(4, COLUMNS, 2, True)):
        want[2 * row : 2 * row + 2, column] = index % 2
    np.testing.assert_array_equal(m, want)


def test_without_state_it_tells_coordinates(run):
    @T.prim_func
    def kernel():
        M = T.empty((ROWS, COLUMNS), T.int32)
        with T.Kernel(1, threads=32):
            tiles = T.PersistentTileScheduler(ROWS, COLUMNS, 1, stateful=False)
            for i in T.serial(ROWS * COLUMNS):
                m, n = tiles.coord(i)
                M[m, n] = i
        return M

    (m,) = run(kernel)
    np.testing.assert_array_equal(m, np.arange(ROWS * COLUMNS).reshape(COLUMNS, ROWS).T)


def test_a_product_by_persistent_blocks(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((100, 48), T.float16), B: T.Tensor((48, 72), T.float16)):
        C = T.empty((100, 72), T.float32)
        with T.Kernel(3, threads=128) as w:
            a = T.alloc_shared((32, 16), T.float16)
            b = T.alloc_shared((16, 32), T.float16)
            c = T.alloc_fragment((32, 32), T.float32)
            tiles = T.PersistentTileScheduler(T.ceildiv(100, 32), T.ceildiv(72, 32), swizzle_size=2)
            tiles.init(w)
            while tiles.valid():
                m, n = tiles.m_idx, tiles.n_idx
                T.clear(c)
                for k in T.serial(3):
                    T.copy(A[m * 32, k * 16], a)
                    T.copy(B[k * 16, n * 32], b)
                    T.gemm(a, b, c)
                T.copy(c, C[m * 32, n * 32])
                tiles.next_tile()
        return C

    a = rng.standard_normal((100, 48)).astype(np.float16)
    b = rng.standard_normal((48, 72)).astype(np.float16)
    (c,) = run(kernel, a, b, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)


@T.meta_class
class Countdown:
    """State of one's own: a method that changes it is traced, with its branches."""

    def __init__(self, start):
        self.left = T.alloc_var(T.int32, init=start)
        self.step = 1

    def wide(self, step):
        self.step = step

    def go(self):
        if self.left % 2 == 0:
            self.left -= 2 * self.step
        else:
            self.left[0] = self.left[0] - self.step

    def more(self):
        return self.left > 0


class Columns(T.BaseTileScheduler):
    """A scheduler of one's own: every tile of one column after the other."""

    def __init__(self, rows, columns):
        super().__init__("columns")
        self.rows = rows
        self._total_tiles = rows * columns

    def update_current_idx(self, linear_idx):
        self.m_idx = linear_idx % self.rows
        self.n_idx = linear_idx // self.rows


def test_classes_of_ones_own(run):
    @T.prim_func
    def kernel():
        M = T.empty((3, 4), T.int32)
        N = T.empty((1,), T.int32)
        with T.Kernel(1, threads=32):
            tiles = Columns(3, 4)
            tiles.init(0)
            while tiles.valid():
                M[tiles.m_idx, tiles.n_idx] = tiles.current_iter
                tiles.next_tile(1)
            count = Countdown(21)
            trips = T.alloc_var(T.int32, init=0)
            count.wide(2)
            while count.more():
                count.go()
                trips += 1
            N[0] = trips
        return M, N

    m, n = run(kernel)
    np.testing.assert_array_equal(m, np.arange(12).reshape(4, 3).T)
    left, trips = 21, 0
    while left > 0:
        left, trips = left - (4 if left % 2 == 0 else 2), trips + 1
    assert n[0] == trips


@pytest.mark.parametrize("wrong", ["panel", "state", "tile"])
def test_wrong_uses_are_refused(wrong):
    with pytest.raises(TileError) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((4,), T.float32)):
            with T.Kernel(1):
                if wrong == "panel":
                    T.PersistentTileScheduler(2, 2, swizzle_size=0)
                if wrong == "state":
                    T.PersistentTileScheduler(2, 2, stateful=False).init(0)
                if wrong == "tile":
                    T.BaseTileScheduler().init(0)

    assert raised.value.code == "E1417"
    assert raised.value.help
