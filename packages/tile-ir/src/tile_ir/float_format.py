"""Binary floating-point formats: how a bit pattern of 4 to 64 bits stands for a number.

One description serves every format, IEEE or not, so that constants, conversions and emitted code
are computed from the same few integers instead of being tabulated by hand for each format.

Sources: IEEE 754-2019 section 3.4 (f16, f32, f64); OCP 8-bit Floating Point Specification 1.0
(e4m3fn, e5m2); OCP Microscaling Formats 1.0 (e8m0, e3m2, e2m3, e2m1); Noune et al. 2022,
arXiv:2206.02915 (the `fnuz` variants: no infinity, one zero, NaN where -0 would be).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum


class NanStyle(Enum):
    """Which codes are NaN."""

    IEEE = "ieee"
    """Exponent all ones and mantissa not zero; mantissa zero is infinity."""
    ALL_ONES = "all_ones"
    """Magnitude all ones only; the format has no infinity."""
    NEGATIVE_ZERO = "negative_zero"
    """The code of -0 only; the format has neither infinity nor a negative zero."""
    NONE = "none"
    """Every code is a finite number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatFormat:
    """A code is sign, biased exponent, mantissa, from the highest bit down. Widths are in bits.

    `bias` is subtracted from the stored exponent. Without subnormals there is no zero either:
    exponent code 0 is an ordinary power of two (e8m0).
    """

    exponent_bits: int
    mantissa_bits: int
    bias: int
    nan: NanStyle = NanStyle.IEEE
    has_sign: bool = True
    has_subnormals: bool = True

    # Derived once, because every conversion of every value reads them.
    has_inf: bool = field(init=False, compare=False)
    """Whether some code is infinite."""
    magnitude_mask: int = field(init=False, compare=False)
    """The bits of a code without its sign."""
    sign_mask: int = field(init=False, compare=False)
    """The sign bit of a code; 0 when the format has none."""
    inf_code: int | None = field(init=False, compare=False)
    """The code of +infinity."""
    max_finite_code: int = field(init=False, compare=False)
    """The code of the largest finite number; positive codes up to it are in numeric order."""
    overflow_code: int = field(init=False, compare=False)
    """What conversion makes of a finite number beyond the range.

    Infinity where there is one, but formats of at most 8 bits saturate to the largest finite
    number: their range is so short that scaled data touches its end in ordinary use.
    """

    def __post_init__(self) -> None:
        sign = self.has_sign << (self.exponent_bits + self.mantissa_bits)
        magnitude = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        ieee = self.nan is NanStyle.IEEE
        infinity = magnitude >> self.mantissa_bits << self.mantissa_bits
        finite = infinity - 1 if ieee else magnitude - (self.nan is NanStyle.ALL_ONES)
        derived = {
            "has_inf": ieee,
            "magnitude_mask": magnitude,
            "sign_mask": sign,
            "inf_code": infinity if ieee else None,
            "max_finite_code": finite,
            "overflow_code": infinity if ieee and self.bits > 8 else finite,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    @property
    def bits(self) -> int:
        """Width of a code."""
        return self.has_sign + self.exponent_bits + self.mantissa_bits

    @property
    def has_nan(self) -> bool:
        """Whether some code is NaN."""
        return self.nan is not NanStyle.NONE

    @property
    def has_negative_zero(self) -> bool:
        """Whether -0 and +0 have different codes."""
        return self.has_sign and self.nan is not NanStyle.NEGATIVE_ZERO

    @property
    def nan_code(self) -> int | None:
        """The code that every NaN is converted to (quiet, positive); payloads carry no meaning."""
        quiet = self.magnitude_mask >> self.mantissa_bits << self.mantissa_bits
        return {
            NanStyle.IEEE: quiet | 1 << max(self.mantissa_bits - 1, 0),
            NanStyle.ALL_ONES: self.magnitude_mask,
            NanStyle.NEGATIVE_ZERO: self.sign_mask,
            NanStyle.NONE: None,
        }[self.nan]

    @property
    def min_exponent(self) -> int:
        """The power of two of the smallest normal number."""
        return self.has_subnormals - self.bias

    @property
    def max_finite(self) -> float:
        """The largest finite number."""
        return self.decode(self.max_finite_code)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with a full mantissa."""
        return math.ldexp(1.0, self.min_exponent)

    @property
    def smallest_positive(self) -> float:
        """The smallest number above zero: subnormal where the format has subnormals."""
        return math.ldexp(1.0, self.min_exponent - self.has_subnormals * self.mantissa_bits)

    @property
    def eps(self) -> float:
        """The gap between 1 and the next larger number."""
        return math.ldexp(1.0, -self.mantissa_bits)

    def is_nan(self, code: int) -> bool:
        """Whether `code` stands for NaN."""
        if self.inf_code is not None:
            return code & self.magnitude_mask > self.inf_code
        if self.nan is NanStyle.ALL_ONES:
            return code & self.magnitude_mask == self.magnitude_mask
        return code == self.nan_code

    def decode(self, code: int) -> float:
        """Return the number of `code` (0 <= code < 2**bits); exact, as f64 holds all of them."""
        if self.is_nan(code):
            return math.nan
        magnitude = code & self.magnitude_mask
        sign = -1.0 if code & self.sign_mask else 1.0
        if magnitude == self.inf_code:
            return sign * math.inf
        exponent, mantissa = divmod(magnitude, 1 << self.mantissa_bits)
        if exponent or not self.has_subnormals:
            mantissa += 1 << self.mantissa_bits
        else:
            exponent = 1
        return sign * math.ldexp(mantissa, exponent - self.bias - self.mantissa_bits)
