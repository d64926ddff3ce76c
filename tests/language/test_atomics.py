"""Atomic updates: many blocks at one place, every kind and form, and what they give back."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.numerics.array import to_numpy_dtype

N = T.dynamic("N")
BLOCKS = 64


@pytest.mark.parametrize(
    "dtype", ["int32", "uint32", "int64", "float32", "float64", "float16", "bfloat16"]
)
def test_sums_of_many_blocks_at_one_place(run, dtype):
    """Small integers, whose sums every type holds exactly in any order."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), total: T.Tensor((3,), dtype)):
        with T.Kernel(N) as bx:
            T.atomic_add(total[bx % 3], A[bx])

    storage = to_numpy_dtype(T.dtype(dtype).ir)
    a = (np.arange(BLOCKS) % 4).astype(storage)
    outcome = run(kernel, a, np.zeros(3, storage))
    want = [a[i::3].astype(np.float64).sum() for i in range(3)]
    np.testing.assert_array_equal(outcome.args[1].astype(np.float64), want)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "float16", "bfloat16", "float64"])
def test_extremes_of_many_blocks(run, rng, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((N,), dtype), found: T.Tensor((2,), dtype)):
        with T.Kernel(N) as bx:
            T.atomic_max(found[0], A[bx])
            T.atomic_min(found[1], A[bx])

    storage = to_numpy_dtype(T.dtype(dtype).ir)
    a = rng.integers(0 if dtype == "uint32" else -1000, 1000, BLOCKS).astype(storage)
    outcome = run(kernel, a, np.array([a[0], a[0]], storage))
    np.testing.assert_array_equal(
        outcome.args[1].astype(np.float64), [a.astype(np.float64).max(), a.astype(np.float64).min()]
    )


def test_bits_of_many_blocks(run):
    @T.prim_func
    def kernel(seen: T.Tensor((2,), T.int64)):
        with T.Kernel(BLOCKS) as bx:
            T.atomic_or(seen[bx // 32], T.shift_left(T.int64(1), T.cast(bx % 32, T.int64)))

    outcome = run(kernel, np.zeros(2, np.int64))
    np.testing.assert_array_equal(outcome.args[0], [2**32 - 1, 2**32 - 1])


def test_previous_values_hand_out_places_once(run):
    """A counter that many blocks draw from: which gets which number is open, the set is not."""

    @T.prim_func
    def kernel(counter: T.Tensor((1,), T.int32)):
        taken = T.empty((BLOCKS,), T.int32)
        with T.Kernel(BLOCKS):
            place = T.atomic_add(counter[0], 1, return_prev=True)
            taken[place] = 1
        return taken

    outcome = run(kernel, np.zeros(1, np.int32))
    np.testing.assert_array_equal(outcome[0], np.ones(BLOCKS))
    assert outcome.args[0].tolist() == [BLOCKS]


@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_whole_tiles(run, rng, kind):
    """Blocks that overlap in their rows; the last tile leaves the tensor."""
    update = getattr(T, f"atomic_{kind}")

    @T.prim_func
    def kernel(A: T.Tensor((N, 16), T.float32), B: T.Tensor((20, 16), T.float32)):
        with T.Kernel(N // 8) as bx:
            x = T.alloc_fragment((8, 16), T.float32)
            T.copy(A[bx * 8, 0], x)
            update(B[(bx % 3) * 8, 0], x)

    a = rng.integers(-50, 50, (72, 16)).astype(np.float32)
    b = rng.integers(-50, 50, (20, 16)).astype(np.float32)
    outcome = run(kernel, a, b)
    want = np.concatenate([b, np.zeros((4, 16), np.float32)])
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}[kind]
    for bx in range(9):
        rows = slice(bx % 3 * 8, bx % 3 * 8 + 8)
        want[rows] = combine(want[rows], a[bx * 8 : bx * 8 + 8])
    np.testing.assert_array_equal(outcome.args[1], want[:20])


def test_histogram_with_values_out_of_range(run, rng):
    """Updates outside a tensor are skipped, and give the safe value."""

    @T.prim_func
    def kernel(A: T.Tensor((N,), T.int32), bins: T.Tensor((10,), T.int32)):
        old = T.empty((N,), T.int32)
        with T.Kernel(1):
            for i in T.serial(N):
                old[i] = T.atomic_add(bins[A[i]], 1, return_prev=True)
        return old

    a = rng.integers(-3, 13, 200, dtype=np.int32)
    outcome = run(kernel, a, np.zeros(10, np.int32))
    inside = (a >= 0) & (a < 10)
    np.testing.assert_array_equal(outcome.args[1], np.bincount(a[inside], minlength=10))
    np.testing.assert_array_equal(outcome[0][~inside], 0)


def test_parallel_loops_update_shared_tiles(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((256,), T.int32)):
        B = T.empty((8,), T.int32)
        with T.Kernel(1):
            bins = T.alloc_shared((8,), T.int32)
            T.clear(bins)
            for i in T.Parallel(256):
                T.atomic_add(bins[A[i]], 1)
            T.copy(bins, B)
        return B

    a = rng.integers(0, 8, 256, dtype=np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.bincount(a, minlength=8))


@pytest.mark.parametrize("order", [None, "relaxed", "acquire", "release", "acq_rel", "seq_cst"])
def test_every_memory_order(run, order):
    @T.prim_func
    def kernel(total: T.Tensor((1,), T.int32)):
        with T.Kernel(BLOCKS):
            T.atomic_add(total[0], 2, memory_order=order)

    outcome = run(kernel, np.zeros(1, np.int32))
    assert outcome.args[0].tolist() == [2 * BLOCKS]


def test_the_last_block_has_what_all_wrote(run, rng):
    """Each block says that its part is written; the one that finds the others done adds up."""

    @T.prim_func
    def kernel(A: T.Tensor((16, 96), T.int32), done: T.Tensor((1,), T.int32)):
        part = T.alloc_global((16, 96), T.int32)
        total = T.empty((96,), T.int32)
        with T.Kernel(16, threads=96) as b:
            for i in T.Parallel(96):
                part[b, i] = 3 * A[b, i]
            before = T.atomic_add(done[0], 1, memory_order="acq_rel", return_prev=True)
            if before == 15:
                mine = T.alloc_fragment((96,), T.int32)
                T.clear(mine)
                for other in T.serial(16):
                    for i in T.Parallel(96):
                        mine[i] += part[other, 95 - i]
                T.copy(mine, total)
        return total

    a = rng.integers(-1000, 1000, (16, 96), dtype=np.int32)
    outcome = run(kernel, a, np.zeros(1, np.int32))
    np.testing.assert_array_equal(outcome[0], 3 * a.sum(axis=0)[::-1])
    assert outcome.args[1].tolist() == [16]


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_atomic_load_and_store(run, dtype):
    @T.prim_func
    def kernel(A: T.Tensor((4,), dtype)):
        with T.Kernel(1):
            T.atomic_store(A[1], T.atomic_load(A[0]))
            T.atomic_store(A[2], 7, memory_order="release")
            A[3] = T.atomic_load(A[2], memory_order="acquire")

    outcome = run(kernel, np.array([5, 0, 0, 0], dtype))
    assert outcome.args[0].tolist() == [5, 5, 7, 7]


def test_split_product_adds_up(run, rng):
    """Split-K: blocks along K add their parts to one tile."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, N), T.float32),
        B: T.Tensor((N, 32), T.float32),
        C: T.Tensor((32, 32), T.float32),
    ):
        with T.Kernel(T.ceildiv(N, 16)) as bk:
            a = T.alloc_shared((32, 16), T.float32)
            b = T.alloc_shared((16, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A[0, bk * 16], a)
            T.copy(B[bk * 16, 0], b)
            T.clear(c)
            T.gemm(a, b, c)
            T.atomic_add(C, c)

    a = rng.standard_normal((32, 70), dtype=np.float32)
    b = rng.standard_normal((70, 32), dtype=np.float32)
    outcome = run(kernel, a, b, np.zeros((32, 32), np.float32))
    np.testing.assert_allclose(outcome.args[2], a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)
