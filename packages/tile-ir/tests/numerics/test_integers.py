"""Integer arithmetic at a width, and conversions from and to integers on arrays."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir.diag import InternalError
from tile_ir.numerics import (
    ceildiv,
    convert,
    floordiv,
    floormod,
    shl,
    shr,
    truncdiv,
    truncmod,
    wrap,
)
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import ALL_DTYPES, bool_, dtype, f64, i4, i8, i32, i64, u8, u32

INTEGERS = [t for t in ALL_DTYPES if t.is_int]
FLOATS = [t for t in ALL_DTYPES if t.is_float]
ANY_INT = st.integers(-(2**70), 2**70)


def in_range(t):
    return st.integers(int(t.min_value), int(t.max_value))


VALUE_PAIRS = st.sampled_from(INTEGERS).flatmap(
    lambda t: st.tuples(st.just(t), in_range(t), in_range(t))
)


@given(ANY_INT, ANY_INT, st.sampled_from(INTEGERS))
def test_wrap_is_a_ring_homomorphism(a, b, t):
    assert t.min_value <= wrap(a, t) <= t.max_value
    assert (wrap(a, t) - a) % (1 << t.bits) == 0
    assert wrap(wrap(a, t) + wrap(b, t), t) == wrap(a + b, t)
    assert wrap(wrap(a, t) * wrap(b, t), t) == wrap(a * b, t)


def test_wrap_of_bool_is_truth():
    assert [wrap(n, bool_) for n in (0, 1, 2, -1)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("a", "b", "down", "up", "to_zero", "floor_rest", "zero_rest"),
    [
        (-7, 2, -4, -3, -3, 1, -1),
        (7, -2, -4, -3, -3, -1, 1),
        (7, -3, -3, -2, -2, -2, 1),
        (-7, -2, 3, 4, 3, -1, -1),
        (7, 2, 3, 4, 3, 1, 1),
        (-6, 3, -2, -2, -2, 0, 0),
    ],
)
def test_divisions(a, b, down, up, to_zero, floor_rest, zero_rest):
    assert floordiv(a, b, i32) == down
    assert ceildiv(a, b, i32) == up
    assert truncdiv(a, b, i32) == to_zero
    assert floormod(a, b, i32) == floor_rest
    assert truncmod(a, b, i32) == zero_rest


@given(VALUE_PAIRS)
def test_quotient_times_divisor_plus_rest_is_the_dividend(case):
    t, a, b = case
    if b == 0:
        return
    assert wrap(floordiv(a, b, t) * b + floormod(a, b, t), t) == a
    assert wrap(truncdiv(a, b, t) * b + truncmod(a, b, t), t) == a
    assert floormod(a, b, t) * b >= 0
    assert truncmod(a, b, t) * a >= 0
    assert abs(floormod(a, b, t)) < abs(b)


def test_the_lowest_value_by_minus_one_wraps():
    for divide in (floordiv, truncdiv, ceildiv):
        assert divide(-128, -1, i8) == -128
    assert floormod(-128, -1, i8) == truncmod(-128, -1, i8) == 0


@pytest.mark.parametrize("op", [floordiv, floormod, ceildiv, truncdiv, truncmod])
def test_division_by_zero_is_left_to_run_time(op):
    with pytest.raises(ZeroDivisionError):
        op(1, 0, i32)


def test_shifts():
    assert shl(1, 31, i32) == -(2**31)
    assert shl(1, 31, u32) == 2**31
    assert shl(0xFF, 4, u8) == 0xF0
    assert shr(-8, 1, i32) == -4
    assert shr(-1, 31, i32) == -1
    assert shr(2**31, 31, u32) == 1
    assert shr(-8, 3, i4) == -1


@pytest.mark.parametrize("count", [-1, 32, 100])
def test_a_shift_count_outside_the_width_is_left_to_run_time(count):
    for op in (shl, shr):
        with pytest.raises(ArithmeticError, match=f"shift of i32 by {count}"):
            op(1, count, i32)


def samples(t):
    """All integers of `t` up to 16 bits, else random ones and the edges of every width."""
    if t.bits <= 16:
        return list(range(int(t.min_value), int(t.max_value) + 1))
    rng = np.random.default_rng(3)
    edges = [s * ((1 << k) + d) for k in range(65) for d in (-1, 0, 1) for s in (1, -1)]
    # Near 2**k + 2**(k - p) an integer is a tie or beside one for a float of p bits of precision.
    ties = [
        s * ((1 << k) + (1 << (k - p)) + d)
        for k in range(54, 64)
        for p in (3, 4, 8, 9, 11, 12, 24, 25, 53)
        for d in (-1, 0, 1)
        for s in (1, -1)
    ]
    random = [int(n) >> int(k) for n, k in rng.integers(0, (1 << 63, 63), (400, 2))]
    return [wrap(n, t) for n in [*edges, *ties, *random]]


@pytest.mark.parametrize("src", INTEGERS, ids=str)
def test_arrays_of_integers_convert_as_scalars_do(src):
    values = samples(src)
    if src.bits == 16:
        values = values[::31] + values[-1:]
    x = np.array(values, np.int64 if src.is_signed else np.uint64).astype(to_numpy_dtype(src))
    for dst in ALL_DTYPES:
        got = convert_array(x, src, dst)
        assert got.dtype == to_numpy_dtype(dst)
        expected = [convert(v, src, dst) for v in values]
        plain = got.astype(np.float64) if dst.is_float else got
        assert list(map(float if dst.is_float else int, plain)) == list(expected)


@pytest.mark.parametrize("dst", INTEGERS, ids=str)
@pytest.mark.parametrize("src", FLOATS, ids=str)
def test_arrays_of_floats_truncate_and_saturate_as_scalars_do(src, dst):
    edges = [s * (2.0**k + d) for k in range(66) for d in (-1, -0.5, 0, 0.5) for s in (1, -1)]
    wide = np.array([*edges, 0.99, -0.99, -0.0, math.inf, -math.inf, math.nan])
    x = convert_array(wide, f64, src)
    expected = [convert(v, src, dst) for v in x.astype(np.float64).tolist()]
    assert list(map(int, convert_array(x, src, dst))) == expected


def test_bool_arrays():
    x = np.array([0.0, -0.0, 0.5, math.nan, math.inf])
    assert convert_array(x, f64, bool_).tolist() == [False, False, True, True, True]
    truth = np.array([False, True])
    for dst in ALL_DTYPES:
        expected = [float(convert(v, bool_, dst)) for v in (False, True)]
        assert convert_array(truth, bool_, dst).astype(np.float64).tolist() == expected


def test_every_nibble_is_its_truth():
    for t in (i4, dtype("u4"), dtype("f4e2m1fn")):
        x = np.arange(16, dtype=np.uint8).view(np.uint8).astype(np.int8)
        x = convert_array(x, i8, t) if t.is_int else x.view(to_numpy_dtype(t))
        assert convert_array(x, t, bool_).tolist() == (x.astype(np.float32) != 0).tolist()


def test_an_array_in_the_wrong_container_is_our_mistake():
    with pytest.raises(InternalError, match="float64 where i64"):
        convert_array(np.zeros(2), i64, i32)


def test_equal_types_return_the_array_itself():
    x = np.zeros(2)
    assert convert_array(x, f64, f64) is x
