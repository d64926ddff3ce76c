"""Every code of every format of at most 16 bits means what numpy and ml_dtypes say it means."""

import math

import numpy as np
import pytest

from tile_ir.numerics import decode, encode
from tile_ir.numerics.array import to_numpy_dtype
from tile_ir.types import ALL_DTYPES, bool_, dtype, f32, f64, tf32

SHORT = [t for t in ALL_DTYPES if t.bits <= 16 and not t.is_bool]
SHORT_FLOATS = [t for t in SHORT if t.is_float]


def all_codes(t):
    return np.arange(1 << t.bits, dtype=np.uint16 if t.bits == 16 else np.uint8)


def decoded(codes, t):
    return np.array([decode(int(c), t) for c in codes], np.float64)


def same(a, b):
    """Equal numbers, equal signs of zero, NaN where NaN."""
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a) & (a == 0), np.signbit(b) & (b == 0)
    )


@pytest.mark.parametrize("t", SHORT_FLOATS, ids=str)
def test_every_code_decodes_to_the_librarys_value(t):
    codes = all_codes(t)
    theirs = codes.view(to_numpy_dtype(t)).astype(np.float64)
    assert same(decoded(codes, t), theirs)


@pytest.mark.parametrize("t", SHORT_FLOATS, ids=str)
def test_every_code_survives_decode_and_encode(t):
    for code in map(int, all_codes(t)):
        value = decode(code, t)
        assert encode(value, t) == (t.format.nan_code if math.isnan(value) else code)


@pytest.mark.parametrize("t", SHORT_FLOATS, ids=str)
def test_positive_codes_are_in_the_order_of_their_values(t):
    values = [decode(c, t) for c in range(t.format.max_finite_code + 1)]
    assert values == sorted(set(values))
    assert values[-1] == t.max_finite


@pytest.mark.parametrize("t", [t for t in SHORT if t.is_int], ids=str)
def test_integer_codes_are_twos_complement(t):
    half = 1 << (t.bits - 1)
    for code in range(1 << t.bits):
        value = decode(code, t)
        assert value == (code - 2 * half if t.is_signed and code >= half else code)
        assert encode(value, t) == code


def test_bool_codes():
    assert (decode(0, bool_), decode(1, bool_)) == (False, True)
    assert (encode(False, bool_), encode(True, bool_), encode(math.nan, bool_)) == (0, 1, 1)


@pytest.mark.parametrize(("t", "code"), [(f32, "<f4"), (f64, "<f8")], ids=str)
def test_wide_formats_agree_with_the_machine(t, code):
    rng = np.random.default_rng(7)
    raw = rng.integers(0, 256, size=(4000, t.bits // 8), dtype=np.uint8)
    edge = [0, 1, 2, (1 << (t.bits - 1)) - 1, 1 << (t.bits - 1)]
    edge += [t.format.inf_code, t.format.inf_code - 1, t.format.magnitude_mask >> 1]
    codes = [int.from_bytes(row.tobytes(), "little") for row in raw] + edge
    machine = np.array(codes, np.uint64).astype(f"<u{t.bits // 8}").view(code).astype(np.float64)
    values = decoded(codes, t)
    assert same(values, machine)
    back = [encode(float(v), t) for v in values if not math.isnan(v)]
    assert back == [c for c, v in zip(codes, values, strict=True) if not math.isnan(v)]


def test_tf32_codes_are_the_high_bits_of_f32():
    for code in range(0, 1 << 19, 37):
        value = decode(code, tf32)
        assert value == decode(code << 13, f32) or math.isnan(value)
        assert encode(value, tf32) == code or math.isnan(value)


@pytest.mark.parametrize("t", ALL_DTYPES, ids=str)
def test_containers_hold_one_value_per_element(t):
    container = to_numpy_dtype(t)
    assert container.itemsize == max(t.storage_bytes, 1)
    assert to_numpy_dtype(t.with_lanes(4)) is container
    assert dtype(container).scalar.format == (f32 if t is tf32 else t).format
