"""Which bits of an index can be set, and sums of parts that share none.

An index of a shared tile is a sum of what the thread gives, what a loop gives, and constants.
Where no two parts have a bit in common no carry crosses from one to the other, so a digit of the
sum is the sum of the parts' digits. Written that way, the thread's part stays one value for all
steps of an unrolled loop and the rest becomes the constant of an access.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Var

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Part", "bits_below", "parts_of", "possible_bits"]


@dataclass(frozen=True, slots=True)
class Part:
    """A summand that is not negative, with the bits that can be set in it."""

    value: Expr
    bits: int

    def digit(self, place: int, extent: int | None) -> Part:
        """`(value // place) % extent`, for powers of two; no extent: no modulus."""
        kept = self.bits // place
        if extent is not None:
            kept &= extent - 1
        if kept == 0:
            return Part(b.const(0, self.value.dtype), 0)
        value = self.value if place == 1 else _shifted(self.value, place, self.bits)
        if self.bits // place != kept:
            assert extent is not None  # without one all bits are kept
            value = b.bit_and(value, extent - 1)
        return Part(value, kept)

    def times(self, factor: int) -> Part:
        """The product with a power of two."""
        return Part(b.mul(self.value, factor), self.bits * factor)


def _shifted(e: Expr, place: int, bits: int) -> Expr:
    if isinstance(e, Binary) and e.op == "mul" and isinstance(e.b, Const) and bits % place == 0:
        factor = int(e.b.value)
        if factor % place == 0:
            return b.mul(e.a, factor // place)
    return b.shr(e, place.bit_length() - 1)


def bits_below(count: int) -> int:
    """The bits that numbers below `count` can have."""
    return (1 << max(count - 1, 0).bit_length()) - 1


def parts_of(e: Expr, known: Mapping[Var, int]) -> tuple[Part, ...] | None:
    """The summands of `e`, none of which has a bit of another; None where that is not certain."""
    out: list[Part] = []
    taken = 0
    for term in _terms(e):
        bits = possible_bits(term, known)
        if bits is None or bits & taken:
            return None
        taken |= bits
        if bits:
            out.append(Part(term, bits))
    return tuple(out)


def _terms(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op == "add":
        return [*_terms(e.a), *_terms(e.b)]
    return [e]


def possible_bits(e: Expr, known: Mapping[Var, int]) -> int | None:
    """The bits that can be set in an integer; None where it may be negative or nothing is known."""
    if isinstance(e, Const):
        value = int(e.value)
        return value if value >= 0 else None
    if isinstance(e, Var):
        return known.get(e)
    if not isinstance(e, Binary):
        return None
    left, right = possible_bits(e.a, known), possible_bits(e.b, known)
    if e.op == "and":  # one side that is not negative bounds the result
        sides = [bits for bits in (left, right) if bits is not None]
        return None if not sides else sides[0] & sides[-1]
    if left is None or right is None:
        return None
    return _combined(e, left, right)


def _combined(e: Binary, left: int, right: int) -> int | None:
    if e.op == "add":
        return left | right if not left & right else bits_below(left + right + 1)
    if e.op in ("or", "xor"):
        return left | right
    if not isinstance(e.b, Const):
        return None
    by = int(e.b.value)
    if e.op == "mul":
        return left * by if by & (by - 1) == 0 else bits_below(left * by + 1)
    if e.op == "shr":
        return left >> by
    if e.op == "shl":
        return left << by
    return None
