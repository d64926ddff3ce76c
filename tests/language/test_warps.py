"""Warps of threads: exchanges, votes, matches and reductions, on every target."""

import numpy as np
import pytest

import tile_frontend as tile
import tile_frontend.language as T
from tile_ir.diag import TileError

N = T.dynamic("N")
K = T.dynamic("K")


def test_lanes_of_warps_sum_by_a_butterfly(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.float32), B: T.Tensor((128,), T.float32)):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            x = T.alloc_var(T.float32, init=0.0)
            x = A[tx]
            for s in range(5):
                x += T.shfl_xor(x, 16 >> s)
            B[tx] = x

    a = rng.standard_normal(128, dtype=np.float32)
    got = run(kernel, a, np.zeros(128, np.float32)).args[1]
    np.testing.assert_allclose(got, np.repeat(a.reshape(4, 32).sum(axis=1), 32), rtol=1e-4)


NUMPY = {
    T.int32: "i4",
    T.float32: "f4",
    T.float16: "f2",
    T.int8: "i1",
    T.int64: "i8",
    T.bool: "?",
}


@pytest.mark.parametrize("dtype", NUMPY, ids=str)
def test_shuffles_within_groups_of_lanes(run, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((64,), dtype), B: T.Tensor((7, 64), dtype)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            x = A[tx]
            B[0, tx] = T.shfl_sync(x, 3)
            B[1, tx] = T.shfl_sync(x, tx + 1, 8)
            B[2, tx] = T.shfl_up(x, 2)
            B[3, tx] = T.shfl_up(x, 1, width=16)
            B[4, tx] = T.shfl_down(x, 3, width=8)
            B[5, tx] = T.shfl_xor(x, 5)
            B[6, tx] = T.tvm_warp_shuffle_down(-1, x, 1, 32, 32)

    a = (np.arange(64) * 5 % 101).astype(NUMPY[dtype])
    got = run(kernel, a, np.zeros((7, 64), a.dtype)).args[1]
    lane = np.arange(64)
    first = {w: lane // w * w for w in (8, 16, 32)}
    want = [
        first[32] + 3,
        first[8] + (lane + 1) % 8,
        np.where(lane % 32 >= 2, lane - 2, lane),
        np.where(lane % 16 >= 1, lane - 1, lane),
        np.where(lane % 8 < 5, lane + 3, lane),
        lane ^ 5,
        np.where(lane % 32 < 31, lane + 1, lane),
    ]
    np.testing.assert_array_equal(got, a[np.array(want)])


def test_reductions_of_warps(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32), F: T.Tensor((128,), T.float32)):
        B = T.empty((5, 128), T.int32)
        G = T.empty((2, 128), T.float32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            x = A[tx]
            B[0, tx] = T.warp_reduce_sum(x)
            B[1, tx] = T.warp_reduce_max(x)
            B[2, tx] = T.warp_reduce_min(x)
            B[3, tx] = T.warp_reduce_bitand(x)
            B[4, tx] = T.warp_reduce_bitor(x)
            G[0, tx] = T.warp_reduce_sum(F[tx])
            G[1, tx] = T.warp_reduce_max(F[tx])
        return B, G

    a = rng.integers(-1000, 1000, 128).astype(np.int32)
    f = rng.standard_normal(128, dtype=np.float32)
    got, floats = run(kernel, a, f)
    width = 32 if np.unique(got[0]).size == 4 else 64
    rows, lines = a.reshape(-1, width), f.reshape(-1, width)
    folds = (np.add, np.maximum, np.minimum, np.bitwise_and, np.bitwise_or)
    want = [np.repeat(fold.reduce(rows, axis=1), width) for fold in folds]
    np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(floats[0], np.repeat(lines.sum(axis=1), width), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(floats[1], np.repeat(lines.max(axis=1), width))


def test_votes_of_warps(run):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32)):
        B = T.empty((3, 128), T.uint64)
        C = T.empty((4, 128), T.int32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            x = A[tx]
            B[0, tx] = T.ballot_sync(x > 2)
            B[1, tx] = T.ballot(x)
            B[2, tx] = T.ballot_sync(x > 2, 0xFF)
            C[0, tx] = T.any_sync(x == 3)
            C[1, tx] = T.all_sync(x != 3)
            C[2, tx] = T.any_sync(x == 3, 0xF)
            C[3, tx] = T.all_sync(x != 3, 0xF)
        return B, C

    a = np.arange(128, dtype=np.int32) % 5
    a[64:] = 4
    masks, votes = run(kernel, a)
    width = 32 if int(masks[1].max()) < 1 << 32 else 64

    def bits(holds):
        rows = holds.reshape(-1, width)
        return np.repeat([sum(int(h) << k for k, h in enumerate(row)) for row in rows], width)

    lane = np.arange(128) % width
    np.testing.assert_array_equal(masks[0], bits(a > 2).astype(np.uint64))
    np.testing.assert_array_equal(masks[1], bits(a != 0).astype(np.uint64))
    np.testing.assert_array_equal(masks[2], bits((a > 2) & (lane < 8)).astype(np.uint64))

    def by_warp(fold, holds):
        return np.repeat(fold(holds.reshape(-1, width), axis=1), width)

    np.testing.assert_array_equal(votes[0], by_warp(np.any, a == 3))
    np.testing.assert_array_equal(votes[1], by_warp(np.all, a != 3))
    np.testing.assert_array_equal(votes[2], by_warp(np.any, (a == 3) & (lane < 4)))
    np.testing.assert_array_equal(votes[3], by_warp(np.all, (a != 3) | (lane >= 4)))


def test_votes_among_those_that_come(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        B = T.empty((3, 64), T.uint64)
        C = T.empty((64,), T.int32)
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            C[tx] = 0
            for i in T.serial(3):
                B[i, tx] = 0
            if tx % 4 == 1:
                B[0, tx] = T.activemask()
                B[1, tx] = T.ballot(A[tx] > 10)
                C[tx] = T.warp_reduce_max(A[tx])
            else:
                if tx % 2 == 0:
                    B[2, tx] = T.activemask()
        return B, C

    a = np.arange(64, dtype=np.int32)
    masks, largest = run(kernel, a)
    wide = int(masks[0].max()) >= 1 << 32
    lanes = range(64 if wide else 32)
    assert int(masks[0][1]) == sum(1 << k for k in lanes if k % 4 == 1)
    assert int(masks[1][1]) == sum(1 << k for k in lanes if k % 4 == 1 and k > 10)
    assert int(masks[2][2]) == sum(1 << k for k in lanes if k % 4 in (0, 2))
    assert largest[1] == (61 if wide else 29)
    assert not masks[:, 3].any()


def test_matches_of_warps(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32)):
        B = T.empty((2, 64), T.uint64)
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            B[0, tx] = T.match_any_sync(A[tx])
            B[1, tx] = T.match_all_sync(A[tx] // 100)
        return B

    a = np.arange(64, dtype=np.int32) % 7
    (got,) = run(kernel, a)
    width = 64 if int(got[1][0]) >= 1 << 32 else 32
    assert int(got[1][0]) == (1 << width) - 1
    for t in range(64):
        first = t // width * width
        want = sum(1 << k for k in range(width) if a[first + k] == a[t])
        assert int(got[0][t]) == want


def test_elements_are_compacted_by_ballots(place, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), count: T.Tensor((1,), T.int32)):
        out = T.empty((N,), T.int32)
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            for i in T.serial(T.ceildiv(N, 64)):
                keep = T.alloc_var(T.bool, init=False)
                base = T.alloc_var(T.int32, init=0)
                keep = i * 64 + tx < N and A[i * 64 + tx] > 0
                lanes = T.ballot(keep)
                lane = T.get_lane_idx()
                below = lanes & ((T.uint64(1) << T.cast(lane, T.uint64)) - T.uint64(1))
                if lane == 0:
                    base = T.atomic_add(count[0], T.popcount(lanes), return_prev=True)
                base = T.shfl_sync(base, 0, width=None)
                if keep:
                    out[base + T.popcount(below)] = A[i * 64 + tx]
        return out

    a = rng.integers(-5, 6, 200).astype(np.int32)
    count = np.zeros(1, np.int32)
    (out,) = place.called(place.compiled(kernel), [a, count])
    kept = a[a > 0]
    assert count[0] == len(kept)
    assert sorted(out[: len(kept)].tolist()) == sorted(kept.tolist())


def test_a_prefix_sum_by_lanes_and_warps(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((128,), T.int32)):
        B = T.empty((128,), T.int32)
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            totals = T.alloc_shared((4,), T.int32)
            lane, warp = T.get_lane_idx(32), T.get_warp_idx(32)
            x = T.alloc_var(T.int32, init=0)
            x = A[tx]
            for s in range(5):
                y = T.shfl_up(x, 1 << s)
                if lane >= (1 << s):
                    x += y
            if lane == 31:
                totals[warp] = x
            T.sync_threads()
            for w in T.serial(warp):
                x += totals[w]
            B[tx] = x
        return B

    a = rng.integers(-100, 100, 128).astype(np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.cumsum(a))


def test_a_matrix_times_a_vector_with_a_warp_per_row(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N, K), T.float16), x: T.Tensor((K,), T.float16)):
        y = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, 4), threads=128) as bx:
            warp, lane = T.get_warp_idx(32), T.get_lane_idx(32)
            row = bx * 4 + warp
            acc = T.alloc_var(T.float32, init=0.0)
            for k in T.serial(lane, K, 32):
                acc += T.cast(A[row, k], T.float32) * T.cast(x[k], T.float32)
            for s in range(5):
                acc += T.shfl_down(acc, 16 >> s)
            if lane == 0:
                y[row] = acc
        return y

    a = rng.standard_normal((10, 70)).astype(np.float16)
    x = rng.standard_normal(70).astype(np.float16)
    (y,) = run(kernel, a, x, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(y, a.astype(np.float64) @ x.astype(np.float64), rtol=1e-3, atol=1e-3)


def test_rows_dealt_to_warps_in_a_loop(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((N, 32), T.float32)):
        y = T.empty((N,), T.float32)
        with T.Kernel(1, threads=64):
            warp, lane = T.get_warp_idx(32), T.get_lane_idx(32)
            for row in T.serial(warp, N, 2):
                x = T.alloc_var(T.float32, init=0.0)
                x = A[row, lane]
                for s in range(5):
                    x += T.shfl_xor(x, 16 >> s)
                if lane == 0:
                    y[row] = x
        return y

    a = rng.standard_normal((7, 32), dtype=np.float32)
    (y,) = run(kernel, a, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(y, a.sum(axis=1), rtol=1e-4, atol=1e-5)


def test_exchanges_in_branches_within_loops_and_branches(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32), B: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            v = T.alloc_var(T.int32, init=0)
            v = A[tx]
            if tx % 2 == 0:
                for _ in T.serial(3):
                    if v > 20:
                        v += T.shfl_xor(v, 2)
                    else:
                        v -= T.shfl_sync(v, 0)
            B[tx] = v

    def lane(values, t, other):
        """What a lane that takes part gets: 0 from one that does not."""
        return values[t // 32 * 32 + other % 32]

    v = [t - 3 for t in range(64)]
    a = np.array(v, np.int32)
    for _ in range(3):
        high = [x if x > 20 and t % 2 == 0 else 0 for t, x in enumerate(v)]
        low = [x if x <= 20 and t % 2 == 0 else 0 for t, x in enumerate(v)]
        for t in range(0, 64, 2):
            v[t] += lane(high, t, t ^ 2) if v[t] > 20 else -lane(low, t, 0)
    got = run(kernel, a, np.zeros(64, np.int32)).args[1]
    assert got.tolist() == v


def test_warps_on_either_side_of_a_branch(run):
    @T.prim_func
    def kernel(A: T.Tensor((64,), T.int32), B: T.Tensor((64,), T.int32)):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            first = T.alloc_shared((32,), T.int32)
            second = T.alloc_shared((32,), T.int32)
            own = T.alloc_local((4,), T.int32)
            square = T.view(own, (2, 2))
            for k in T.serial(4):
                own[k] = A[tx] + k
            if tx < 32:
                first[tx] = square[1, 0]
                T.sync_warp()
                B[tx] = first[31 - tx]
            else:
                second[tx - 32] = square[0, 1]
                T.tvm_storage_sync("warp")
                B[tx] = second[63 - tx]

    a = np.arange(64, dtype=np.int32) ** 2
    got = run(kernel, a, np.zeros(64, np.int32)).args[1]
    want = np.concatenate([a[31::-1] + 2, a[:31:-1] + 1])
    np.testing.assert_array_equal(got, want)


def test_warps_that_are_not_whole_are_refused():
    @T.prim_func
    def kernel(A: T.Tensor((48,), T.int32)):
        with T.Kernel(1, threads=48):
            tx = T.get_thread_binding()
            A[tx] = T.warp_reduce_sum(tx)

    with pytest.raises(TileError) as caught:
        tile.compile(kernel, target="cpu")
    assert caught.value.code == "E0613"
