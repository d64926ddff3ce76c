"""Integer arithmetic at the width of a type: exact in Python's integers, then reduced to the type.

Reduction is two's complement wrap-around on every target, so overflow is defined and the oracle,
the folder and all emitted code agree. What stays undefined at run time raises `ArithmeticError`
here, and a folder that meets it leaves the expression alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.types import DType


def wrap(value: int, dt: DType) -> int:
    """Return the value of type `dt` congruent to `value` modulo 2**bits; for bool, its truth.

    Lanes are ignored: `value` is one lane.
    """
    if dt.is_bool:
        return value != 0
    low = value & ((1 << dt.bits) - 1)
    return low - (1 << dt.bits) if dt.is_signed and low >> (dt.bits - 1) else low


def floordiv(a: int, b: int, dt: DType) -> int:
    """Return a / b rounded down: -7 by 2 is -4. The lowest value by -1 wraps.

    Raises:
        ZeroDivisionError: `b` is 0.
    """
    return wrap(a // b, dt)


def floormod(a: int, b: int, dt: DType) -> int:
    """Return a - b * floordiv(a, b), which has the sign of `b`: -7 by 2 is 1.

    Raises:
        ZeroDivisionError: `b` is 0.
    """
    return wrap(a % b, dt)


def ceildiv(a: int, b: int, dt: DType) -> int:
    """Return a / b rounded up, for every sign: 7 by -3 is -2.

    Raises:
        ZeroDivisionError: `b` is 0.
    """
    return wrap(-(-a // b), dt)


def truncdiv(a: int, b: int, dt: DType) -> int:
    """Return a / b rounded towards zero as in C: -7 by 2 is -3. The lowest value by -1 wraps.

    Raises:
        ZeroDivisionError: `b` is 0.
    """
    quotient = abs(a) // abs(b)
    return wrap(quotient if (a < 0) == (b < 0) else -quotient, dt)


def truncmod(a: int, b: int, dt: DType) -> int:
    """Return a - b * truncdiv(a, b), which has the sign of `a`: -7 by 2 is -1.

    Raises:
        ZeroDivisionError: `b` is 0.
    """
    remainder = abs(a) % abs(b)
    return wrap(-remainder if a < 0 else remainder, dt)


def shl(a: int, count: int, dt: DType) -> int:
    """Return `a` shifted left; bits beyond the width are lost.

    Raises:
        ArithmeticError: `count` is not in 0..bits-1, where targets differ.
    """
    return wrap(a << _checked(count, dt), dt)


def shr(a: int, count: int, dt: DType) -> int:
    """Return `a` shifted right: arithmetic for a signed type, logical for an unsigned one.

    Raises:
        ArithmeticError: `count` is not in 0..bits-1, where targets differ.
    """
    return wrap(a >> _checked(count, dt), dt)


def _checked(count: int, dt: DType) -> int:
    if not 0 <= count < dt.bits:
        raise ArithmeticError(f"shift of {dt.scalar} by {count}")
    return count
