"""The printed recipes of `FORMAT_FACTS`, executed on 32-bit integers, equal the conversions."""

import numpy as np
import pytest

from tile_ir.numerics import FORMAT_FACTS, decode
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import ALL_DTYPES, bf16, f8e4m3fn, f8e5m2, f8e8m0fnu, f16, f32, f64, tf32

FLOATS = [t for t in ALL_DTYPES if t.is_float]
NARROW = [t for t in FLOATS if t not in (f32, f64)]


def _f32(bits):
    return np.array(bits, np.uint32).view(np.float32)


def encode_to_nearest(x, facts):
    """The recipe of the documentation, line by line; every operation is one of 32 bits."""
    r = facts.f32
    u = x.view(np.uint32) & np.uint32(0x7FFFFFFF)
    sign = np.where(x.view(np.uint32) >> np.uint32(31), np.uint32(facts.sign_mask), np.uint32(0))
    odd = (u >> np.uint32(r.shift)) & np.uint32(1)
    bias = np.uint32((1 << (r.shift - 1)) - 1)
    normal = (u - np.uint32(r.rebias << 23) + bias + odd) >> np.uint32(r.shift)
    subnormal = (u.view(np.float32) + _f32(r.subnormal_magic)).view(np.uint32)
    subnormal = subnormal - np.uint32(r.subnormal_magic)
    code = np.where(u < np.uint32(r.smallest_normal), subnormal, normal)
    code = np.minimum(code, np.uint32(facts.overflow_code))
    top = facts.max_finite_code if facts.inf_code is None else facts.inf_code
    code = np.where(u == np.uint32(0x7F800000), np.uint32(top), code)
    code = np.where((code != 0) | facts.has_negative_zero, code | sign, code)
    nan = facts.max_finite_code if facts.nan_code is None else facts.nan_code
    return np.where(u > np.uint32(0x7F800000), np.uint32(nan), code)


def encode_upwards(x, facts):
    u = x.view(np.uint32) & np.uint32(0x7FFFFFFF)
    up = np.minimum((u + np.uint32(0x7FFFFF)) >> np.uint32(23), np.uint32(facts.max_finite_code))
    code = np.where((x > 0) & (u > np.uint32(facts.f32.smallest_normal)), up, np.uint32(0))
    return np.where(u > np.uint32(0x7F800000), np.uint32(facts.nan_code), code)


def inputs():
    """f32 numbers of every kind: all f16 and bf16 values with neighbours, and random bits."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    exact = [codes.view(to_numpy_dtype(t)).astype(np.float32) for t in (f16, bf16)]
    near = [np.nextafter(x, np.float32(1)) for x in exact]
    random = np.random.default_rng(5).integers(0, 1 << 32, 200_000, dtype=np.uint32)
    return np.concatenate([*exact, *near, random.view(np.float32)])


def codes_of(x, t):
    image = x.view({1: np.uint8, 2: np.uint16, 4: np.uint32}[x.dtype.itemsize])
    return image.astype(np.uint32) >> np.uint32(FORMAT_FACTS[t].storage_shift)


@pytest.mark.parametrize("t", NARROW, ids=str)
def test_the_encoding_recipe(t):
    x, facts = inputs(), FORMAT_FACTS[t]
    with np.errstate(all="ignore"):
        got = (encode_upwards if facts.rounds_up else encode_to_nearest)(x, facts)
    expected = convert_array(x, f32, t)
    # NaN has one code here and several there.
    numbers = ~np.isnan(expected.astype(np.float64))
    assert np.array_equal(got[numbers], codes_of(expected, t)[numbers])
    if facts.nan_code is not None:
        assert set(got[~numbers].tolist()) == {facts.nan_code}


@pytest.mark.parametrize("t", NARROW, ids=str)
def test_the_decoding_recipe(t):
    facts = FORMAT_FACTS[t]
    stride = 1 if t.bits <= 16 else 29
    codes = np.arange(0, 1 << t.bits, stride, dtype=np.uint32)
    magnitude = codes & np.uint32(facts.magnitude_mask)
    value = (magnitude << np.uint32(facts.f32.shift)).view(np.float32)
    value = value * _f32(facts.f32.decode_scale)
    value = np.where(codes & np.uint32(facts.sign_mask), -value, value)
    expected = np.array([decode(c, t) for c in codes.tolist()])
    finite = np.isfinite(expected)
    if facts.rounds_up:  # its code 0 is 2**-127, which f32 writes as a subnormal
        finite[0] = False
    assert np.array_equal(value[finite].astype(np.float64), expected[finite])


def test_every_float_has_facts():
    assert set(FORMAT_FACTS) == set(FLOATS)
    assert {t for t in FLOATS if FORMAT_FACTS[t].f32 is None} == {f32, f64}
    assert [t for t in FLOATS if FORMAT_FACTS[t].rounds_up] == [f8e8m0fnu]


@pytest.mark.parametrize("t", FLOATS, ids=str)
def test_masks_partition_the_code(t):
    facts = FORMAT_FACTS[t]
    parts = (facts.sign_mask, facts.exponent_mask, facts.mantissa_mask)
    assert sum(parts) == (1 << facts.bits) - 1
    assert facts.magnitude_mask == facts.exponent_mask | facts.mantissa_mask
    assert facts.exponent_mask.bit_count() == facts.exponent_bits
    assert facts.mantissa_mask.bit_count() == facts.mantissa_bits


def test_facts_pinned():
    half = FORMAT_FACTS[f16]
    assert (half.inf_code, half.overflow_code, half.nan_code) == (0x7C00, 0x7C00, 0x7E00)
    assert half.max_finite_code == 0x7BFF
    assert half.f32.shift == 13
    assert half.f32.rebias == 112
    assert half.f32.subnormal_magic == 0x3F000000
    assert half.f32.smallest_normal == 0x38800000
    assert half.f32.max_finite == 0x477FE000
    assert half.f32.decode_scale == 0x77800000
    assert FORMAT_FACTS[f8e5m2].overflow_code == 0x7B
    assert FORMAT_FACTS[f8e4m3fn].nan_code == 0x7F
    assert FORMAT_FACTS[tf32].storage_shift == 13
