"""Conversion of one value between element types, exact and rounded once, on Python numbers.

The rules hold on every target:

* To a float: round to nearest, ties to even, in one step from the exact value. f16, bf16, tf32,
  f32 and f64 overflow to infinity. Floats of at most 8 bits saturate: a finite value too large
  becomes the largest finite one.
* Infinity stays infinite where the format has one (also f8e5m2 and f8e3m4), else it becomes the
  largest finite value of its sign.
* NaN stays NaN where the format has one. Without one (6-bit and 4-bit floats) it becomes the
  largest finite value, positive: loud in a result, where zero would hide. The sign and the payload
  of a NaN carry no meaning.
* -0 stays -0 where the format has one, else it becomes 0; likewise a negative underflow.
* To f8e8m0fnu, the powers of two: up, to the smallest value not below x. So 0 and every negative x
  give 2**-127, and all above 2**127, infinity included, gives 2**127.
* Float to integer: truncate towards zero; out of range saturates to the bound, NaN gives 0.
* Integer to integer: wrap around modulo 2**bits. bool counts as 0 or 1.
* To bool: x != 0, so NaN is true.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir.numerics.integer import wrap
from tile_ir.types import tf32

if TYPE_CHECKING:
    from tile_ir.float_format import FloatFormat
    from tile_ir.types import DType

Scalar = bool | int | float


def encode(value: Scalar, dt: DType) -> int:
    """Return the code of `value` in type `dt`, 0 <= code < 2**dt.bits, converting by the rules
    above.

    Integers of any size are rounded exactly. Lanes are ignored: `value` is one lane.
    """
    if dt.format is not None:
        return _encode_float(value, dt.format)
    return int(_to_integer(value, dt)) & ((1 << dt.bits) - 1)


def decode(bits: int, dt: DType) -> Scalar:
    """Return the bool, int or float that the code `bits` stands for, exactly.

    Bits beyond the width of `dt` are ignored.
    """
    code = bits & ((1 << dt.bits) - 1)
    if dt.format is not None:
        return dt.format.decode(code)
    return code != 0 if dt.is_bool else wrap(code, dt)


def convert(value: Scalar, src: DType, dst: DType) -> Scalar:
    """Return `value`, a value of type `src`, converted to type `dst` by the rules above.

    The result is a bool, int or float as `dst` asks; a float is exactly representable in `dst`.
    """
    exact = float(value) if src.is_float else int(value)
    if dst.format is not None:
        return dst.format.decode(_encode_float(exact, dst.format))
    return _to_integer(exact, dst)


def literal_bits(value: Scalar, dt: DType) -> int:
    """Return the bit pattern of one lane in memory, as an unsigned integer of
    `dt.scalar.storage_bits` bits.

    It is the code, except for tf32, where it is the pattern of the f32 with the same value.
    """
    return encode(value, dt) << storage_shift(dt)


def storage_shift(dt: DType) -> int:
    """Return how far the code of a lane is shifted up in its memory slot: 13 for tf32, else 0."""
    return tf32.slot_bits - tf32.bits if dt.scalar is tf32 else 0


def _to_integer(value: Scalar, dt: DType) -> int:
    if dt.is_bool:
        return value != 0
    if isinstance(value, int):
        return wrap(value, dt)
    if math.isnan(value):
        return 0
    low, high = int(dt.min_value), int(dt.max_value)
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(math.trunc(value), low), high)


def _encode_float(value: Scalar, fmt: FloatFormat) -> int:
    if isinstance(value, float) and math.isnan(value):
        return fmt.max_finite_code if fmt.nan_code is None else fmt.nan_code
    if not fmt.has_subnormals:
        return _encode_power_of_two(value, fmt)
    negative = math.copysign(1.0, value) < 0 if isinstance(value, float) else value < 0
    magnitude = _encode_magnitude(abs(value), fmt)
    signed = negative and (magnitude != 0 or fmt.has_negative_zero)
    return magnitude | fmt.sign_mask if signed else magnitude


def _encode_magnitude(value: int | float, fmt: FloatFormat) -> int:
    if value == math.inf:
        return fmt.max_finite_code if fmt.inf_code is None else fmt.inf_code
    if value == 0:
        return 0
    numerator, exponent = _odd_times_power_of_two(value)
    leading = max(numerator.bit_length() - 1 + exponent, fmt.min_exponent)
    # In units of the last mantissa place a normal number counts 2**mantissa_bits or more, so adding
    # whole binades to the count gives the code, and a carry out of the mantissa moves to the next
    # exponent.
    units = _round_half_even(numerator, exponent - leading + fmt.mantissa_bits)
    code = ((leading - fmt.min_exponent) << fmt.mantissa_bits) + units
    return min(code, fmt.overflow_code)


def _encode_power_of_two(value: int | float, fmt: FloatFormat) -> int:
    if value <= 0:
        return 0
    if value == math.inf:
        return fmt.max_finite_code
    numerator, exponent = _odd_times_power_of_two(value)
    rounded_up = numerator.bit_length() + exponent - (numerator == 1)
    return min(max(rounded_up + fmt.bias, 0), fmt.max_finite_code)


def _odd_times_power_of_two(value: int | float) -> tuple[int, int]:
    """Return (n, e) with `value` == n * 2**e and n odd, for a positive finite value."""
    numerator, denominator = value.as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    return numerator >> zeros, zeros - (denominator.bit_length() - 1)


def _round_half_even(numerator: int, exponent: int) -> int:
    """Return numerator * 2**exponent rounded to the nearest integer, ties to even."""
    if exponent >= 0:
        return numerator << exponent
    quotient = numerator >> -exponent
    rest = numerator - (quotient << -exponent)
    half = 1 << (-exponent - 1)
    return quotient + (rest > half or (rest == half and quotient & 1))
