"""Reducers: every iteration contributes once, to the place that it names, over any loops."""

import numpy as np
import pytest

import tile_frontend.language as T
from tile_ir.diag import TileError
from tile_ir.numerics.array import to_numpy_dtype

ROWS, COLUMNS, STEPS = 16, 24, 3
KINDS = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


def rows_of(op, dtype, init=None):
    """A kernel that reduces each row of a matrix, tile by tile along it."""

    @T.prim_func
    def kernel(A: T.Tensor((ROWS, STEPS * COLUMNS), dtype)):
        out = T.empty((ROWS,), dtype)
        with T.Kernel(1, threads=64):
            tile = T.alloc_fragment((ROWS, COLUMNS), dtype)
            result = T.alloc_fragment((ROWS,), dtype)
            acc = T.alloc_reducer((ROWS,), dtype, op=op)
            T.reducer_init(acc, init)
            for k in T.serial(STEPS):
                T.copy(A[0, k * COLUMNS], tile)
                for i, j in T.Parallel(ROWS, COLUMNS):
                    T.reducer_update(acc[i], tile[i, j])
            T.finalize_reducer(acc, result)
            T.copy(result, out)
        return out

    return kernel


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int32", "uint32"])
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_rows_over_several_tiles(run, rng, op, dtype):
    storage = to_numpy_dtype(T.dtype(dtype).ir)
    low = 0 if dtype == "uint32" else -8
    a = rng.integers(low, 9, (ROWS, STEPS * COLUMNS)).astype(storage)
    (out,) = run(rows_of(op, dtype), a)
    want = KINDS[op].reduce(a.astype(np.float64), axis=1)
    np.testing.assert_array_equal(out.astype(np.float64), want)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint8", "int64"])
@pytest.mark.parametrize("op", ["bitand", "bitor", "bitxor"])
def test_bits_of_rows(run, rng, op, dtype):
    a = rng.integers(0, 127, (ROWS, STEPS * COLUMNS)).astype(dtype)
    a[:4] |= 5
    (out,) = run(rows_of(op, dtype), a)
    np.testing.assert_array_equal(out, KINDS[op].reduce(a, axis=1))


def test_the_first_contribution_counts_once(run, rng):
    a = rng.integers(-8, 9, (ROWS, STEPS * COLUMNS)).astype(np.float32)
    (out,) = run(rows_of("sum", "float32", init=100.0), a)
    np.testing.assert_array_equal(out, a.sum(1) + 100)
    (out,) = run(rows_of("max", "float32", init=7.5), a)
    np.testing.assert_array_equal(out, np.maximum(a.max(1), 7.5))


def test_half_precision_sums_are_formed_in_float32(run):
    a = np.ones((ROWS, STEPS * COLUMNS), np.float16)
    a[:, 0] = 2048  # where half precision counts by twos
    (out,) = run(rows_of("sum", "float16"), a)
    np.testing.assert_array_equal(out, np.float16(2048 + STEPS * COLUMNS - 1))


def test_nan_wins(run):
    a = np.zeros((ROWS, STEPS * COLUMNS), np.float32)
    a[3, 40] = np.nan
    (out,) = run(rows_of("max", "float32"), a)
    assert np.isnan(out[3])
    assert np.count_nonzero(np.isnan(out)) == 1


def test_small_integers_wrap_like_their_type(run, rng):
    a = rng.integers(-128, 128, (ROWS, STEPS * COLUMNS)).astype(np.int8)
    (out,) = run(rows_of("sum", "int8"), a)
    np.testing.assert_array_equal(out, a.sum(1, dtype=np.int8))


@pytest.mark.parametrize("threads", [32, 128])
def test_one_place_takes_every_contribution_once(run, threads):
    """However many threads there are for eight iterations."""

    @T.prim_func
    def kernel(A: T.Tensor((8,), T.float32)):
        out = T.empty((1,), T.float32)
        with T.Kernel(1, threads=threads):
            acc = T.alloc_reducer((1,), T.float32)
            T.reducer_init(acc)
            for i in T.Parallel(8):
                T.reducer_update(acc[0], A[i])
            for i in T.Parallel(8):
                T.reducer_update(acc[0], A[i] * 100.0)
            result = T.alloc_fragment((1,), T.float32)
            T.finalize_reducer(acc, result)
            T.copy(result, out)
        return out

    (out,) = run(kernel, np.arange(1, 9, dtype=np.float32))
    assert out[0] == 36 * 101


@pytest.mark.parametrize("known", [True, False])
def test_loops_too_long_for_registers(run, known):
    """Or of a length that only the launch tells."""
    n = 40000 if known else T.dynamic("n")

    @T.prim_func
    def kernel(A: T.Tensor((n,), T.int32)):
        out = T.empty((1,), T.int32)
        with T.Kernel(1, threads=128):
            acc = T.alloc_reducer((1,), T.int32)
            T.reducer_init(acc)
            for i in T.Parallel(n):
                T.reducer_update(acc[0], A[i])
            T.finalize_reducer(acc, out)
        return out

    (out,) = run(kernel, np.arange(40000, dtype=np.int32))
    assert out[0] == 40000 * 39999 // 2


def test_columns_branches_and_places_of_two_axes(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((4, 6, 5), T.float32)):
        low = T.empty((5,), T.float32)
        box = T.empty((4, 5), T.float32)
        total = T.empty((1,), T.float32)
        with T.Kernel(1, threads=32):
            x = T.alloc_fragment((4, 6, 5), T.float32)
            T.copy(A, x)
            least = T.alloc_reducer((5,), T.float32, op="min")
            sums = T.alloc_reducer((4, 5), T.float32)
            alone = T.alloc_reducer((1, 1), T.float32)
            T.reducer_init(least)
            T.reducer_init(sums)
            T.reducer_init(alone)
            for i, j, k in T.Parallel(4, 6, 5):
                T.reducer_update(least[k], x[i, j, k])
                if x[i, j, k] > 0.0:
                    T.reducer_update(sums[i, k], x[i, j, k])
                T.reducer_update(alone[0, 0], x[i, j, k])
            a = T.alloc_fragment((5,), T.float32)
            b = T.alloc_fragment((4, 5), T.float32)
            c = T.alloc_fragment((1, 1), T.float32)
            T.finalize_reducer(least, a)
            T.finalize_reducer(sums, b)
            T.finalize_reducer(alone, c)
            T.copy(a, low)
            T.copy(b, box)
            T.copy(c[0:1, 0], total)
        return low, box, total

    a = rng.integers(-9, 10, (4, 6, 5)).astype(np.float32)
    low, box, total = run(kernel, a)
    np.testing.assert_array_equal(low, a.min((0, 1)))
    np.testing.assert_array_equal(box, np.where(a > 0, a, 0).sum(1))
    assert total[0] == a.sum()


@pytest.mark.parametrize("op", ["sum", "max"])
def test_places_that_are_computed(run, rng, op):
    """A histogram: which place an iteration contributes to is data."""

    @T.prim_func
    def kernel(B: T.Tensor((128,), T.int32), A: T.Tensor((128,), T.float32)):
        out = T.empty((10,), T.float32)
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((10,), T.float32, op=op)
            T.reducer_init(acc)
            for i in T.Parallel(128):
                T.reducer_update(acc[B[i]], A[i])
            result = T.alloc_fragment((10,), T.float32)
            T.finalize_reducer(acc, result)
            T.copy(result, out)
        return out

    bins = rng.integers(0, 10, 128).astype(np.int32)
    a = rng.integers(-9, 10, 128).astype(np.float32)
    (out,) = run(kernel, bins, a)
    want = [KINDS[op].reduce(a[bins == n]) for n in range(10)]
    np.testing.assert_array_equal(out, want)


def test_the_older_form(run, rng):
    """Opened by T.clear in a loop over tiles, added to, closed in place."""

    @T.prim_func
    def kernel(A: T.Tensor((32, 48), T.float32), x: T.Tensor((48,), T.float32)):
        y = T.empty((32,), T.float32)
        with T.Kernel(1, threads=64):
            acc = T.alloc_reducer((8,), T.float32, replication="all")
            for row in T.serial(4):
                T.clear(acc)
                for k in T.serial(3):
                    for i, j in T.Parallel(8, 16):
                        acc[i] += A[row * 8 + i, k * 16 + j] * x[k * 16 + j]
                T.finalize_reducer(acc)
                T.copy(acc, y[row * 8])
        return y

    a = rng.integers(-4, 5, (32, 48)).astype(np.float32)
    x = rng.integers(-4, 5, 48).astype(np.float32)
    (y,) = run(kernel, a, x)
    np.testing.assert_array_equal(y, a @ x)


WRONG = {
    "not open": ("is not open", lambda acc, r: T.finalize_reducer(acc, r)),
    "twice": ("opened twice", lambda acc, r: (T.reducer_init(acc), T.reducer_init(acc))),
    "not closed": ("never closed", lambda acc, r: T.reducer_init(acc)),
    "read": ("read before it has a value", lambda acc, r: T.copy(acc, r)),
    "no place": ("contributes to", lambda acc, r: T.reducer_update(r[0], 1.0)),
    "alone": (
        "outside T.Parallel",
        lambda acc, r: (T.reducer_init(acc), T.reducer_update(acc[0], 1.0)),
    ),
    "value": (
        "read before it has a value",
        lambda acc, r: (T.reducer_init(acc), T.max(acc[0], 1.0)),
    ),
    "other": ("takes", lambda acc, r: T.reducer_init(r)),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_wrong_uses_are_refused(wrong):
    message, do = WRONG[wrong]
    with pytest.raises(TileError, match=message) as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(1):
                acc = T.alloc_reducer((8,), T.float32)
                r = T.alloc_fragment((8,), T.float32)
                do(acc, r)

    assert raised.value.code == "E1418"
    assert raised.value.help


def test_a_reducer_is_closed_where_it_was_opened():
    with pytest.raises(TileError, match="closed in another block") as raised:

        @T.prim_func
        def kernel(A: T.Tensor((8,), T.float32)):
            with T.Kernel(1) as bx:
                acc = T.alloc_reducer((8,), T.float32)
                r = T.alloc_fragment((8,), T.float32)
                T.reducer_init(acc)
                if bx == 0:
                    T.finalize_reducer(acc, r)

    assert raised.value.code == "E1418"
