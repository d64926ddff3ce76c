"""Conversion to floats, exhaustively and at every boundary, against rounding by search.

The reference below knows nothing of bits: it lists the values of a format and picks the nearest
one. Array and scalar conversion must both give its answer.
"""

import functools
import math

import numpy as np
import pytest

from tile_ir.numerics import convert, decode, encode
from tile_ir.numerics.array import convert_array, to_numpy_dtype
from tile_ir.types import (
    ALL_DTYPES,
    bf16,
    f4e2m1fn,
    f4e2m1fn_unpacked,
    f8e8m0fnu,
    f16,
    f32,
    f64,
    tf32,
)

SMALL = [t for t in ALL_DTYPES if t.is_float and t.bits <= 8 and t is not f4e2m1fn_unpacked]
NEAREST = [*(t for t in SMALL if t is not f8e8m0fnu), f16, bf16, tf32]
ROUNDED = [*NEAREST, f8e8m0fnu]


@functools.cache
def magnitudes(t):
    """Values of the codes 0..max_finite_code as f64, and one step more: where overflow begins."""
    codes = np.arange(t.format.max_finite_code + 1, dtype=np.uint32)
    if t is tf32:  # a quarter of a million values, which are the f32 numbers with 13 zero bits
        values = (codes << np.uint32(13)).view(np.float32).astype(np.float64)
    else:
        values = np.array([t.format.decode(c) for c in codes.tolist()])
    return np.append(values, 2 * values[-1] - values[-2])


@functools.cache
def midpoints(t):
    values = magnitudes(t)
    return (values[:-1] + values[1:]) / 2


def nearest(x, t):
    """The reference: `x` (f64) rounded to the nearest value of `t`, as f64."""
    fmt, size = t.format, np.abs(x)
    below = np.searchsorted(midpoints(t), size, side="left")
    tie = (below < len(midpoints(t))) & (size == np.append(midpoints(t), np.inf)[below])
    code = below + (tie & (below % 2 == 1))
    overflow = code > fmt.max_finite_code
    value = magnitudes(t)[np.minimum(code, fmt.max_finite_code)]
    value = np.where(overflow, math.inf if t.bits > 8 else t.max_finite, value)
    value = np.where(np.isinf(x), math.inf if fmt.has_inf else t.max_finite, value)
    value = np.copysign(value, x) if fmt.has_negative_zero else np.where(x < 0, -value, value) + 0.0
    return np.where(np.isnan(x), math.nan if fmt.has_nan else t.max_finite, value)


def upwards(x):
    """The reference for f8e8m0fnu: the least power of two not below `x`, in range."""
    above = np.searchsorted(magnitudes(f8e8m0fnu)[:-1], x, side="left")
    return np.where(np.isnan(x), math.nan, magnitudes(f8e8m0fnu)[np.minimum(above, 254)])


def reference(x, t):
    return upwards(x) if t is f8e8m0fnu else nearest(x, t)


def differing(a, b):
    """Indices where two f64 arrays differ in value or in the sign of a zero."""
    zeros = (a == 0) & (b == 0)
    wrong = np.where(zeros, np.signbit(a) != np.signbit(b), a != b)
    return np.flatnonzero(wrong & ~(np.isnan(a) & np.isnan(b)))


def by_array(x, src, dst):
    return convert_array(x, src, dst).astype(np.float64)


def by_scalar(x, dst):
    decoded = functools.cache(lambda code: decode(code, dst))
    return np.array([decoded(encode(v, dst)) for v in x.tolist()])


def around(points, container):
    """Each point and its two neighbours in `container`, both signs, with the specials."""
    p = points.astype(container)
    p = p[np.isfinite(p)]
    near = np.concatenate([p, np.nextafter(p, container(np.inf)), np.nextafter(p, container(0))])
    return np.concatenate([near, -near, container([np.nan, np.inf, -np.inf, 0.0, -0.0])])


def boundaries(t, container):
    """Where rounding to `t` changes its answer: midpoints, values, both ends of the source."""
    # tf32 has a quarter of a million of them; 3 meets even and odd codes alike.
    step = 3 if t is tf32 else 1
    points = (midpoints(t)[::step], magnitudes(t)[::step], midpoints(t)[-9:], magnitudes(t)[-9:])
    info = np.finfo(container)
    limits = np.array([info.max, info.tiny, info.smallest_subnormal], np.float64)
    return around(np.concatenate([*points, limits]), container)


@pytest.mark.parametrize("src", [f16, bf16], ids=str)
@pytest.mark.parametrize("dst", SMALL, ids=str)
def test_every_16_bit_float_to_every_small_format(src, dst):
    x = np.arange(1 << 16, dtype=np.uint16).view(to_numpy_dtype(src))
    exact = x.astype(np.float64)
    expected = reference(exact, dst)
    assert differing(by_array(x, src, dst), expected).size == 0
    assert differing(by_scalar(exact, dst), expected).size == 0


@pytest.mark.parametrize(("src", "dst"), [(f16, bf16), (bf16, f16), (f16, tf32), (bf16, tf32)])
def test_every_16_bit_float_to_the_other_formats(src, dst):
    x = np.arange(1 << 16, dtype=np.uint16).view(to_numpy_dtype(src))
    assert differing(by_array(x, src, dst), reference(x.astype(np.float64), dst)).size == 0


@pytest.mark.parametrize("src", SMALL, ids=str)
@pytest.mark.parametrize("dst", [*ROUNDED, f32, f64], ids=str)
def test_every_small_float_to_every_format(src, dst):
    x = np.arange(1 << src.bits, dtype=np.uint8).view(to_numpy_dtype(src))
    exact = x.astype(np.float64)
    expected = exact if dst.bits >= 32 or src.format == dst.format else reference(exact, dst)
    assert differing(by_array(x, src, dst), expected).size == 0
    scalar = np.array([convert(v, src, dst) for v in exact.tolist()])
    assert differing(scalar, expected).size == 0


@pytest.mark.parametrize(("src", "container"), [(f32, np.float32), (f64, np.float64)], ids=str)
@pytest.mark.parametrize("dst", ROUNDED, ids=str)
def test_every_boundary(src, container, dst):
    x = boundaries(dst, container)
    exact = x.astype(np.float64)
    expected = reference(exact, dst)
    assert differing(by_array(x, src, dst), expected).size == 0
    # Scalar conversion takes microseconds: of a long list it gets a part, even and odd codes alike.
    part = slice(None, None, {19: 37, 16: 7}.get(dst.bits, 1))
    assert differing(by_scalar(exact[part], dst), expected[part]).size == 0


@pytest.mark.parametrize("dst", ROUNDED, ids=str)
def test_random_bit_patterns(dst):
    rng = np.random.default_rng(11)
    x = rng.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    wide = rng.integers(0, 1 << 64, 100_000, dtype=np.uint64).view(np.float64)
    scaled = rng.standard_normal(100_000) * np.exp2(rng.integers(-20, 20, 100_000))
    expected = reference(x.astype(np.float64), dst)
    assert differing(by_array(x, f32, dst), expected).size == 0
    assert differing(by_scalar(x[:4000].astype(np.float64), dst), expected[:4000]).size == 0
    for y in (wide, scaled):
        assert differing(by_array(y, f64, dst), reference(y, dst)).size == 0


def test_the_unpacked_4_bit_float_holds_the_same_numbers():
    x = boundaries(f4e2m1fn, np.float32)
    packed, unpacked = (convert_array(x, f32, t) for t in (f4e2m1fn, f4e2m1fn_unpacked))
    assert packed.tobytes() == unpacked.tobytes()
    assert convert_array(packed, f4e2m1fn, f4e2m1fn_unpacked).tobytes() == packed.tobytes()
    assert {encode(v, f4e2m1fn) == encode(v, f4e2m1fn_unpacked) for v in x.tolist()} == {True}


def test_f64_to_f32_is_the_machines():
    points = np.exp2(np.arange(-152.0, 130.0))
    x = np.concatenate([around(points * (1 + 2.0**-24), np.float64), around(points, np.float64)])
    machine = x.astype(np.float32).astype(np.float64)
    assert differing(by_array(x, f64, f32), machine).size == 0
    assert differing(np.array([convert(v, f64, f32) for v in x.tolist()]), machine).size == 0


TWICE = [
    # A double just beside a midpoint of the format, which f32 rounds onto the midpoint itself.
    (f16, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-10),
    (f16, 1 + 3 * 2.0**-11 - 2.0**-40, 1 + 2.0**-10),
    (f16, 65520 - 2.0**-20, 65504.0),
    (f16, 2.0**-25 + 2.0**-60, 2.0**-24),
    (bf16, 1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-7),
    (bf16, 1 + 3 * 2.0**-8 - 2.0**-40, 1 + 2.0**-7),
    (bf16, 2.0**-134 + 2.0**-180, 2.0**-133),
    (bf16, (2 - 2.0**-8) * 2.0**127 - 2.0**80, (2 - 2.0**-7) * 2.0**127),
    (tf32, 1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-10),
    (tf32, 1 + 3 * 2.0**-11 - 2.0**-40, 1 + 2.0**-10),
]


@pytest.mark.parametrize(("dst", "value", "expected"), TWICE)
def test_doubles_are_rounded_once(dst, value, expected):
    twice = convert(convert(value, f64, f32), f32, dst)
    assert twice != expected, "the case must tell one rounding from two"
    assert convert(value, f64, dst) == expected
    assert convert(-value, f64, dst) == -expected
    assert by_array(np.array([value, -value]), f64, dst).tolist() == [expected, -expected]


def test_an_upward_rounding_keeps_what_f32_would_lose():
    value = 1 + 2.0**-40
    assert convert(value, f64, f8e8m0fnu) == 2.0
    assert by_array(np.array([value]), f64, f8e8m0fnu).tolist() == [2.0]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (2, 3, 4)])
def test_shapes_are_kept(shape):
    x = np.full(shape, 300.0)
    for dst in ALL_DTYPES:
        assert convert_array(x, f64, dst).shape == shape
        assert convert_array(x, f64, dst).dtype == to_numpy_dtype(dst)


def test_strided_arrays():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::-3].T
    assert by_array(x, f32, bf16).tolist() == x.tolist()
