"""The integers that conversion code is printed from: masks, codes and f32 constants of each float.

An emitter writes branch-free code in its own language out of these numbers, so that no target
tabulates a format by hand. The recipes stated here are executed by the tests against the reference
conversion.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir.numerics.scalar import storage_shift
from tile_ir.types import ALL_DTYPES, f32

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.types import DType


@dataclass(frozen=True, slots=True, kw_only=True)
class F32Recipe:
    """Conversion between f32 and a narrower format by integer operations on the bits of the f32.

    All fields but `shift` and `rebias` are bit patterns of f32 numbers. To encode x (f32) with
    u = bits(|x|), for formats that round to nearest:

        normal    = (u - (rebias << 23) + (1 << (shift - 1)) - 1 + ((u >> shift) & 1)) >> shift
        subnormal = bits(|x| + float(subnormal_magic)) - subnormal_magic     # the adder rounds
        code      = u < smallest_normal ? subnormal : normal
        code      = min(code, overflow_code)
        code      = u == 0x7f800000 ? (inf_code, or max_finite_code without one) : code
        code      = code | sign, unless code is 0 and the format has no negative zero
        code      = u > 0x7f800000 ? (nan_code, or max_finite_code without one) : code

    (the subtraction wraps modulo 2**32 where `subnormal` is chosen). For a format that rounds up:

        code      = x > 0 and u > smallest_normal ? min((u + 0x7fffff) >> 23, max_finite_code) : 0
        code      = u > 0x7f800000 ? nan_code : code

    To decode: float(magnitude << shift) * float(decode_scale) with the sign put back, where `float`
    reads bits as f32; infinity and NaN are recognised by their codes. Flushing subnormals to zero
    breaks both directions. A double is first narrowed to f32 rounding to odd (truncate, then set
    the last bit if anything was lost); rounding it to nearest twice would be wrong.
    """

    shift: int
    """Mantissa bits that f32 has more than the format."""
    rebias: int
    """Exponent bias of f32 less that of the format."""
    smallest_normal: int
    max_finite: int
    subnormal_magic: int
    """The number whose last mantissa place is the format's smallest subnormal."""
    decode_scale: int
    """2**rebias."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatFacts:
    """One float type. Codes and masks are integers of `bits` bits; codes are of positive values."""

    bits: int
    exponent_bits: int
    mantissa_bits: int
    bias: int
    sign_mask: int
    magnitude_mask: int
    exponent_mask: int
    mantissa_mask: int
    max_finite_code: int
    inf_code: int | None
    nan_code: int | None
    overflow_code: int
    """What a finite value beyond the range becomes: `max_finite_code` or `inf_code`."""
    has_negative_zero: bool
    rounds_up: bool
    """True for powers of two only (f8e8m0fnu), which is converted to by rounding up."""
    storage_shift: int
    """How far the code is shifted up in its memory slot."""
    f32: F32Recipe | None
    """None for f32 and f64, which are not narrower than f32."""


def _bits_of_f32(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _recipe(dt: DType) -> F32Recipe | None:
    fmt, wide = dt.float_format, f32.float_format
    if fmt.mantissa_bits >= wide.mantissa_bits:
        return None
    rebias = wide.bias - fmt.bias
    return F32Recipe(
        shift=wide.mantissa_bits - fmt.mantissa_bits,
        rebias=rebias,
        smallest_normal=_bits_of_f32(fmt.smallest_normal),
        max_finite=_bits_of_f32(fmt.max_finite),
        subnormal_magic=_bits_of_f32(2.0**wide.mantissa_bits * fmt.smallest_positive),
        decode_scale=_bits_of_f32(2.0**rebias),
    )


def _facts(dt: DType) -> FormatFacts:
    fmt = dt.float_format
    mantissa_mask = (1 << fmt.mantissa_bits) - 1
    return FormatFacts(
        bits=fmt.bits,
        exponent_bits=fmt.exponent_bits,
        mantissa_bits=fmt.mantissa_bits,
        bias=fmt.bias,
        sign_mask=fmt.sign_mask,
        magnitude_mask=fmt.magnitude_mask,
        exponent_mask=fmt.magnitude_mask ^ mantissa_mask,
        mantissa_mask=mantissa_mask,
        max_finite_code=fmt.max_finite_code,
        inf_code=fmt.inf_code,
        nan_code=fmt.nan_code,
        overflow_code=fmt.overflow_code,
        has_negative_zero=fmt.has_negative_zero,
        rounds_up=not fmt.has_subnormals,
        storage_shift=storage_shift(dt),
        f32=_recipe(dt),
    )


FORMAT_FACTS: Mapping[DType, FormatFacts] = MappingProxyType(
    {dt: _facts(dt) for dt in ALL_DTYPES if dt.is_float}
)
"""Facts of every scalar float type. Look up `dt.scalar`."""
