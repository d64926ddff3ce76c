"""The conversion rules of the language, pinned value by value."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tile_ir.numerics import convert, decode, encode, literal_bits
from tile_ir.types import ALL_DTYPES, dtype, f8e5m2, f8e8m0fnu, f16, f32, f64, i8, i32, tf32

INF, NAN = math.inf, math.nan

PINNED = [
    # to a wide float: overflow is infinite
    ("f32", "f16", 65519.99609375, 65504.0),
    ("f32", "f16", 65520.0, INF),
    ("f32", "f16", -65520.0, -INF),
    ("f64", "f32", 1e39, INF),
    ("f64", "bf16", 3.4e38, INF),
    ("f32", "f16", INF, INF),
    # to at most 8 bits: finite values saturate
    ("f32", "f8e4m3fn", 449.0, 448.0),
    ("f32", "f8e4m3fn", 1e30, 448.0),
    ("f32", "f8e4m3fn", -1e30, -448.0),
    ("f32", "f8e4m3fnuz", 1e30, 240.0),
    ("f32", "f8e4m3b11fnuz", 31.0, 30.0),
    ("f32", "f8e5m2", 1e30, 57344.0),
    ("f32", "f8e5m2", 65536.0, 57344.0),
    ("f32", "f8e3m4", 100.0, 15.5),
    ("f32", "f6e2m3fn", 100.0, 7.5),
    ("f32", "f6e3m2fn", -100.0, -28.0),
    ("f32", "f4e2m1fn", 100.0, 6.0),
    # infinity stays where there is one
    ("f32", "f8e5m2", INF, INF),
    ("f32", "f8e5m2", -INF, -INF),
    ("f32", "f8e3m4", -INF, -INF),
    ("f32", "f8e4m3fn", INF, 448.0),
    ("f32", "f8e4m3fn", -INF, -448.0),
    ("f32", "f8e5m2fnuz", INF, 57344.0),
    ("f32", "f4e2m1fn", -INF, -6.0),
    # NaN stays where there is one
    ("f32", "f16", NAN, NAN),
    ("f32", "f8e4m3fn", NAN, NAN),
    ("f32", "f8e4m3fnuz", NAN, NAN),
    ("f32", "f8e8m0fnu", NAN, NAN),
    ("f32", "f6e2m3fn", NAN, 7.5),
    ("f32", "f6e3m2fn", NAN, 28.0),
    ("f32", "f4e2m1fn", NAN, 6.0),
    ("f32", "f4e2m1fn", -NAN, 6.0),
    # ties to even
    ("f32", "f4e2m1fn", 0.25, 0.0),
    ("f32", "f4e2m1fn", 0.75, 1.0),
    ("f32", "f4e2m1fn", 2.5, 2.0),
    ("f32", "f4e2m1fn", 3.5, 4.0),
    ("f32", "f4e2m1fn", 5.0, 4.0),
    ("f32", "f8e4m3fn", 2.0**-10, 0.0),
    ("f32", "f8e4m3fn", 3 * 2.0**-10, 2.0**-8),
    ("f32", "tf32", 2049.0, 2048.0),
    ("f32", "tf32", 2051.0, 2052.0),
    # up to a power of two
    ("f32", "f8e8m0fnu", 1.0, 1.0),
    ("f32", "f8e8m0fnu", 1.0 + 2.0**-23, 2.0),
    ("bf16", "f8e8m0fnu", 3.0, 4.0),
    ("f32", "f8e8m0fnu", 0.0, 2.0**-127),
    ("f32", "f8e8m0fnu", -5.0, 2.0**-127),
    ("f32", "f8e8m0fnu", -INF, 2.0**-127),
    ("f32", "f8e8m0fnu", 2.0**-149, 2.0**-127),
    ("f32", "f8e8m0fnu", 2.0**-127 + 2.0**-149, 2.0**-126),
    ("f32", "f8e8m0fnu", 2.0**127, 2.0**127),
    ("f32", "f8e8m0fnu", 1.5 * 2.0**127, 2.0**127),
    ("f32", "f8e8m0fnu", INF, 2.0**127),
    ("i32", "f8e8m0fnu", 5, 8.0),
    ("i64", "f8e8m0fnu", 2**53 + 1, 2.0**54),
    # float to integer: truncate, saturate, NaN is 0
    ("f32", "i32", 2.9, 2),
    ("f32", "i32", -2.9, -2),
    ("f32", "i8", 1000.0, 127),
    ("f32", "i8", -1000.0, -128),
    ("f32", "u8", -0.9, 0),
    ("f32", "u8", -3.0, 0),
    ("f32", "u8", 255.9, 255),
    ("f32", "i4", 8.0, 7),
    ("f64", "i64", 2.0**63, 2**63 - 1),
    ("f64", "i64", -(2.0**63), -(2**63)),
    ("f64", "u64", 2.0**64, 2**64 - 1),
    ("f32", "i32", INF, 2**31 - 1),
    ("f32", "i32", -INF, -(2**31)),
    ("f32", "u32", -INF, 0),
    ("f32", "i32", NAN, 0),
    # integer to integer: wrap
    ("i32", "i8", 130, -126),
    ("i32", "u8", -1, 255),
    ("i32", "u4", 17, 1),
    ("i32", "i4", 8, -8),
    ("u64", "i64", 2**64 - 1, -1),
    ("i32", "u64", -1, 2**64 - 1),
    # integer to float: exact, then rounded once
    ("i32", "f32", 2**24 + 1, 2.0**24),
    ("i64", "f32", 2**53 + 2**29 + 1, 2.0**53 + 2.0**30),
    ("i64", "bf16", 2**62 + 2**54 + 1, 2.0**62 + 2.0**55),
    ("u64", "f64", 2**64 - 1, 2.0**64),
    ("u64", "f16", 2**64 - 1, INF),
    ("i32", "f8e4m3fn", 1000, 448.0),
    ("i32", "f4e2m1fn", -5, -4.0),
    # bool
    ("f32", "bool", 0.0, False),
    ("f32", "bool", -0.0, False),
    ("f32", "bool", 0.1, True),
    ("f32", "bool", NAN, True),
    ("i32", "bool", 256, True),
    ("bool", "f16", True, 1.0),
    ("bool", "i8", True, 1),
    ("bool", "f8e8m0fnu", False, 2.0**-127),
]


@pytest.mark.parametrize(("src", "dst", "value", "expected"), PINNED)
def test_pinned(src, dst, value, expected):
    got = convert(value, dtype(src), dtype(dst))
    assert type(got) is type(expected)
    assert got == expected or (math.isnan(got) and math.isnan(expected))


@pytest.mark.parametrize("name", ["f16", "f32", "bf16", "f8e4m3fn", "f8e5m2", "f4e2m1fn"])
def test_negative_zero_stays(name):
    assert math.copysign(1.0, convert(-0.0, f32, dtype(name))) == -1.0
    assert math.copysign(1.0, convert(-1e-30, f64, dtype("f8e4m3fn"))) == -1.0


@pytest.mark.parametrize("name", ["f8e4m3fnuz", "f8e5m2fnuz", "f8e4m3b11fnuz"])
def test_a_format_without_negative_zero_gets_zero_not_nan(name):
    for value in (-0.0, -1e-30):
        assert encode(value, dtype(name)) == 0


def test_codes_pinned():
    assert encode(1.0, f16) == 0x3C00
    assert encode(NAN, f16) == encode(-NAN, f16) == 0x7E00
    assert encode(-INF, f8e5m2) == 0xFC
    assert encode(-1, i8) == 0xFF
    assert encode(300.7, i8) == 0x7F
    assert encode(1.5, tf32) == 0x1FE00
    assert encode(1.0, f8e8m0fnu) == 127
    assert decode(0x1FF, i8) == -1


def test_literals_are_memory_patterns():
    assert literal_bits(1.0, f32) == 0x3F800000
    assert literal_bits(1.0, tf32) == 0x3F800000
    assert literal_bits(2049.0, tf32) == literal_bits(2048.0, f32)
    assert literal_bits(-1, i32) == 0xFFFFFFFF
    assert literal_bits(True, dtype("bool")) == 1
    assert literal_bits(0.1, f64) == 0x3FB999999999999A
    assert literal_bits(6.0, dtype("f4e2m1fn_unpacked")) == 7
    assert literal_bits(1.0, f16.with_lanes(2)) == 0x3C00


FLOATS = [t for t in ALL_DTYPES if t.is_float]
NUMBERS = st.one_of(st.floats(width=64), st.integers(-(2**80), 2**80), st.booleans())


@given(NUMBERS, st.sampled_from(ALL_DTYPES))
def test_encoding_a_decoded_code_gives_the_code(value, t):
    code = encode(value, t)
    assert 0 <= code < 1 << t.bits
    assert encode(decode(code, t), t) == code
    assert literal_bits(value, t) < 1 << t.storage_bits


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), st.sampled_from(ALL_DTYPES))
def test_conversion_is_monotone(x, y, t):
    low, high = sorted((x, y))
    if not t.is_bool:
        assert convert(low, f64, t) <= convert(high, f64, t)


@given(st.integers(-(2**70), 2**70), st.sampled_from(FLOATS))
def test_integers_round_to_a_nearest_value(n, t):
    got = decode(encode(n, t), t)
    if abs(n) <= t.max_finite and t is not f8e8m0fnu:
        step = max(abs(n) * t.eps, t.format.smallest_positive)
        assert abs(int(got * 2**16) - n * 2**16) <= int(step * 2**15) + 1
    assert encode(n, t) == encode(n, t.with_lanes(4))
