"""Arguments that share memory, one of which is written."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_frontend.adapters.base import ArrayInfo
from tile_frontend.overlaps import check_apart, pairs_of
from tile_ir.diag import TileError
from tile_ir.types import f32, i8


@pytest.fixture(scope="module")
def doubled():
    n = T.dynamic("n")

    @T.prim_func
    def doubled(A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)):
        with T.Kernel(n) as i:
            B[i] = A[i] * 2.0

    return tile.compile(doubled, target="cpu")


@pytest.fixture(params=["numpy", "torch"])
def base(request):
    """64 numbers, in an array of either library."""
    numbers = np.arange(64, dtype=np.float32)
    return pytest.importorskip("torch").from_numpy(numbers) if request.param == "torch" else numbers


@pytest.mark.parametrize("start", [1, 15, -1, -15])
def test_arrays_that_overlap_in_part_are_refused(doubled, base, start):
    read, written = base[16:32], base[16 + start : 32 + start]
    doubled(base[:16], base[32:48])
    for _ in range(2):  # a combination that was refused is looked at again
        with pytest.raises(TileError, match="'B' and 'A' share memory") as caught:
            doubled(read, written)
        assert caught.value.code == "E2018"
        assert f"A begins {-4 * start} bytes from the begin of B" in caught.value.notes[0]
    with pytest.raises(TileError, match="share memory"):
        doubled.bind(read, written)
    assert base[16:32].tolist() == list(range(16, 32))


@pytest.mark.parametrize("start", [0, 16, -16])
def test_neighbours_and_one_array_for_both_are_taken(doubled, base, start):
    written = base[16 + start : 32 + start]
    for _ in range(2):
        base[16:32] = 16
        doubled(base[16:32], written)
        assert written.tolist() == [32] * 16
    assert base[16].item() == (16 if start else 32)


def test_many_addresses_are_looked_at(doubled):
    base = np.zeros(500, np.float32)
    for k in range(100):  # more than are known by heart
        doubled(base[k : k + 8], base[k + 8 : k + 16])
        with pytest.raises(TileError, match="share memory"):
            doubled(base[k : k + 8], base[k + 7 : k + 15])


def test_columns_between_each_other_share_nothing():
    kind = T.StridedTensor((10, 8), (16, 1), T.float32)

    @T.prim_func
    def doubled(A: kind, B: kind):
        with T.Kernel(10) as i:
            for j in T.Parallel(8):
                B[i, j] = A[i, j] * 2.0

    kernel = tile.compile(doubled, target="cpu")
    base = np.ones((10, 16), np.float32)
    kernel(base[:, :8], base[:, 8:])
    assert base.sum() == 80 + 160
    with pytest.raises(TileError, match="share memory"):
        kernel(base[:, :8], base[:, 7:15])


def test_inputs_may_share_memory():
    @T.prim_func
    def added(A: T.Tensor((8,), T.float32), B: T.Tensor((8,), T.float32)):
        with T.Kernel(8) as i:
            C = T.alloc_var(T.float32)
            C = A[i] + B[i]

    base = np.zeros(9, np.float32)
    tile.compile(added, target="cpu")(base[:8], base[1:])
    assert base.sum() == 0


def info(shape, strides=None, dtype=f32):
    return ArrayInfo(dtype, shape, strides)


def test_what_pairs_there_are():
    infos = {"a": info((4,)), "b": info((2, 8)), "c": None, "d": info((0, 3)), "e": info((3,))}
    places = {n: i for i, n in enumerate(infos)}
    found = pairs_of(infos, places, {"b", "c", "d", "a"}, ())
    assert [p.names for p in found] == [("a", "b"), ("a", "e"), ("b", "e")]
    (pair,) = pairs_of({"a": info((4,)), "b": info((2, 8))}, places, {"a"}, ())
    assert (pair.low, pair.high, pair.same) == (-64, 16, False)
    assert [at for at in (36, 37, 100, 115, 116) if pair.meet((100, at))] == [37, 100, 115]


def test_arrays_that_run_backwards():
    infos = {"a": info((4,), (-2,), i8), "b": info((4,), (1,), i8)}
    (pair,) = pairs_of(infos, {"a": 0, "b": 1}, {"a"}, ())
    # a takes 100, 98, 96 and 94
    assert [at for at in (90, 91, 99, 100, 101) if pair.meet((100, at))] == [91, 99, 100]


def test_what_is_read_again_may_not_be_one_array():
    infos = {"a": info((4,)), "b": info((4,))}
    (pair,) = pairs_of(infos, {"a": 0, "b": 1}, {"a"}, {"b"})
    with pytest.raises(TileError, match="share memory") as caught:
        check_apart((pair,), (64, 64))
    assert "reads b again behind T.sync_grid" in caught.value.notes[1]
    check_apart((pair,), (64, 80))
