"""Reductions and scans: every kind, axis, scope and option, against numpy in exact arithmetic."""

import numpy as np
import pytest

import tile_frontend.language as T

KINDS = {
    "sum": lambda x, axis: x.sum(axis=axis),
    "max": lambda x, axis: x.max(axis=axis),
    "min": lambda x, axis: x.min(axis=axis),
    "absmax": lambda x, axis: np.abs(x).max(axis=axis),
    "abssum": lambda x, axis: np.abs(x).sum(axis=axis),
    "bitand": lambda x, axis: np.bitwise_and.reduce(x, axis=axis),
    "bitor": lambda x, axis: np.bitwise_or.reduce(x, axis=axis),
    "bitxor": lambda x, axis: np.bitwise_xor.reduce(x, axis=axis),
}
MERGED = {"sum": np.add, "max": np.maximum, "min": np.minimum, "absmax": np.maximum}
MERGED |= {"bitand": np.bitwise_and, "bitor": np.bitwise_or, "bitxor": np.bitwise_xor}


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_along_every_axis(run, rng, kind, dim):
    """Once afresh and once on top of what the output holds."""
    reduce = getattr(T, f"reduce_{kind}")
    rest = (20,) if dim == 0 else (24,)

    @T.prim_func
    def kernel(A: T.Tensor((24, 20), T.int32), start: T.Tensor(rest, T.int32)):
        fresh = T.empty(rest, T.int32)
        merged = T.empty(rest, T.int32)
        with T.Kernel(1):
            x = T.alloc_fragment((24, 20), T.int32)
            r = T.alloc_fragment(rest, T.int32)
            T.copy(A, x)
            reduce(x, r, dim=dim)
            T.copy(r, fresh)
            T.copy(start, r)
            reduce(x, r, dim=dim, clear=False)
            T.copy(r, merged)
        return fresh, merged

    a = rng.integers(-(2**20), 2**20, (24, 20), dtype=np.int32)
    start = rng.integers(0, 2**24, rest, dtype=np.int32)
    fresh, merged = run(kernel, a, start)
    want = KINDS[kind](a, dim)
    np.testing.assert_array_equal(fresh, want)
    # abssum always starts afresh.
    np.testing.assert_array_equal(merged, MERGED[kind](want, start) if kind in MERGED else want)


@pytest.mark.parametrize("scopes", ["ss", "sf", "fs", "ff", "ll"])
def test_every_pair_of_scopes(run, rng, scopes):
    alloc = {"s": T.alloc_shared, "f": T.alloc_fragment, "l": T.alloc_local}

    @T.prim_func
    def kernel(A: T.Tensor((16, 33), T.float32)):
        B = T.empty((16, 1), T.float32)
        with T.Kernel(1):
            x = alloc[scopes[0]]((16, 33), T.float32)
            r = alloc[scopes[1]]((16, 1), T.float32)
            T.copy(A, x)
            T.reduce_max(x, r, dim=1)
            T.copy(r, B)
        return B

    a = rng.standard_normal((16, 33), dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.max(axis=1, keepdims=True))


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 1, 1)], ids=str)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_three_axes(run, rng, shape, dim):
    rest = tuple(n for axis, n in enumerate(shape) if axis != dim)

    @T.prim_func
    def kernel(A: T.Tensor(shape, T.float32)):
        B = T.empty(rest, T.float32)
        with T.Kernel(1):
            x = T.alloc_fragment(shape, T.float32)
            r = T.alloc_fragment(rest, T.float32)
            T.copy(A, x)
            T.reduce(x, r, "min", dim=dim)
            T.copy(r, B)
        return B

    a = rng.standard_normal(shape, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, a.min(axis=dim))


def test_a_whole_row_to_one_number(run, rng):
    @T.prim_func
    def kernel(A: T.Tensor((100,), T.float32)):
        B = T.empty((1,), T.float32)
        with T.Kernel(1):
            x = T.alloc_fragment((100,), T.float32)
            r = T.alloc_fragment((1,), T.float32)
            T.copy(A, x)
            T.reduce_sum(x, r)
            T.copy(r, B)
        return B

    a = rng.standard_normal(100, dtype=np.float32)
    (b,) = run(kernel, a)
    np.testing.assert_allclose(b, [a.sum(dtype=np.float64)], rtol=1e-5, atol=1e-5)


def test_half_precision_sums_are_formed_in_float32(run):
    """4096 ones and a half step: half precision arithmetic would stop at 2048."""

    @T.prim_func
    def kernel(A: T.Tensor((4096,), T.float16)):
        B = T.empty((1,), T.float16)
        with T.Kernel(1):
            x = T.alloc_fragment((4096,), T.float16)
            r = T.alloc_fragment((1,), T.float16)
            T.copy(A, x)
            T.reduce_sum(x, r)
            T.copy(r, B)
        return B

    (b,) = run(kernel, np.ones(4096, np.float16))
    assert b.tolist() == [4096.0]


@pytest.mark.parametrize("propagate", [True, False])
@pytest.mark.parametrize("kind", ["max", "min", "absmax"])
def test_nan_wins_or_loses(run, kind, propagate):
    reduce = getattr(T, f"reduce_{kind}")

    @T.prim_func
    def kernel(A: T.Tensor((4, 8), T.float32)):
        B = T.empty((4,), T.float32)
        with T.Kernel(1):
            x = T.alloc_fragment((4, 8), T.float32)
            r = T.alloc_fragment((4,), T.float32)
            T.copy(A, x)
            reduce(x, r, dim=1, nan_propagate=propagate)
            T.copy(r, B)
        return B

    a = np.arange(-16, 16, dtype=np.float32).reshape(4, 8)
    a[1, 0] = a[2, 7] = a[3, 3] = np.nan
    (b,) = run(kernel, a)
    with np.errstate(all="ignore"):
        x = np.abs(a) if kind == "absmax" else a
        plain = np.fmin if kind == "min" else np.fmax
        strict = np.minimum if kind == "min" else np.maximum
    np.testing.assert_array_equal(b, (strict if propagate else plain).reduce(x, axis=1))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_infinities(run, kind):
    @T.prim_func
    def kernel(A: T.Tensor((3, 4), T.float32)):
        B = T.empty((3,), T.float32)
        with T.Kernel(1):
            x = T.alloc_fragment((3, 4), T.float32)
            r = T.alloc_fragment((3,), T.float32)
            T.copy(A, x)
            T.reduce(x, r, kind, dim=1)
            T.copy(r, B)
        return B

    inf = np.inf
    a = np.array([[1, inf, 2, 3], [-inf, -inf, -inf, -inf], [inf, 0, 0, -inf]], np.float32)
    (b,) = run(kernel, a)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(b, KINDS[kind](a, 1))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("kind", ["cumsum", "cummax"])
def test_scans(run, rng, kind, dim, reverse):
    """In place, and into another tile of another scope."""
    scan = getattr(T, kind)

    @T.prim_func
    def kernel(A: T.Tensor((12, 17), T.int32)):
        B = T.empty((12, 17), T.int32)
        C = T.empty((12, 17), T.int32)
        with T.Kernel(1):
            x = T.alloc_shared((12, 17), T.int32)
            y = T.alloc_fragment((12, 17), T.int32)
            T.copy(A, x)
            scan(x, y, dim=dim, reverse=reverse)
            scan(x, dim=dim, reverse=reverse)
            T.copy(x, B)
            T.copy(y, C)
        return B, C

    a = rng.integers(-100, 100, (12, 17), dtype=np.int32)
    order = np.flip(a, dim) if reverse else a
    want = (np.add if kind == "cumsum" else np.maximum).accumulate(order, axis=dim)
    want = np.flip(want, dim) if reverse else want
    b, c = run(kernel, a)
    np.testing.assert_array_equal(b, want)
    np.testing.assert_array_equal(c, want)


def test_one_axis_scan(run):
    @T.prim_func
    def kernel(A: T.Tensor((70,), T.float32)):
        with T.Kernel(1):
            x = T.alloc_shared((70,), T.float32)
            T.copy(A, x)
            T.cumsum(x)
            T.copy(x, A)

    outcome = run(kernel, np.ones(70, np.float32))
    np.testing.assert_array_equal(outcome.args[0], np.arange(1, 71))


def test_quantifiers(run):
    @T.prim_func
    def kernel(A: T.Tensor((4, 6), T.int32)):
        B = T.empty((4, 2), T.bool)
        with T.Kernel(4) as i:
            x = T.alloc_shared((6,), T.int32)
            T.copy(A[i, 0], x)
            B[i, 0] = T.any_of(x)
            B[i, 1] = T.all_of(x[0:6])
        return B

    a = np.array([[0] * 6, [1] * 6, [0, 0, 0, 0, 0, 5], [7, 7, 0, 7, 7, 7]], np.int32)
    (b,) = run(kernel, a)
    np.testing.assert_array_equal(b, np.stack([a.any(axis=1), a.all(axis=1)], axis=1))
