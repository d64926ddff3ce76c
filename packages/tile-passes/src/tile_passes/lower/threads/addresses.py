"""Where an element of a buffer is in one thread's program: shared memory is flat, with the layout
written out as index arithmetic.

Shared buffers keep their name and become one axis long; layouts of several digits and the XOR on
byte offsets turn into divisions, products and bit operations on the coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Binary, Const, Expr, Var
from tile_ir.layout import TileLayout, places, row_major
from tile_ir.types import i32
from tile_passes.lower.threads.bits import Part, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tile_ir.core import Buffer
    from tile_ir.layout import Digit, Swizzle

__all__ = ["bits_of", "digit", "flat_offset", "flattened", "static_shape", "tile_layout"]

ZERO = b.const(0, i32)
NOTHING: Mapping[Var, int] = MappingProxyType({})


def static_shape(buffer: Buffer) -> tuple[int, ...]:
    """The extents of a tile.

    Raises:
        InternalError: one of them is symbolic.
    """
    out = tuple(int(e.value) for e in buffer.shape if isinstance(e, Const))
    if len(out) != len(buffer.shape):
        raise InternalError("E9001", f"{buffer.name} has a symbolic extent in a thread's program")
    return out


def tile_layout(buffer: Buffer) -> TileLayout:
    """The layout of a shared buffer, row-major unless one was chosen.

    A layout that is a table has no index arithmetic; it only moves data, so row-major is as right.
    """
    if isinstance(buffer.layout, TileLayout):
        return buffer.layout
    return row_major(static_shape(buffer))


def flattened(buffer: Buffer) -> Buffer:
    """The buffer as one run of elements, with what its layout pads."""
    from dataclasses import replace

    size = tile_layout(buffer).cosize(buffer.dtype.storage_bits)
    return replace(buffer, shape=(b.const(max(size, 1), i32),), layout=None)


def bits_of(value: int) -> int | None:
    """The exponent of a power of two, else None."""
    return value.bit_length() - 1 if value > 0 and value & (value - 1) == 0 else None


def digit(e: Expr, place: int, extent: int | None) -> Expr:
    """`(e // place) % extent` of an expression that is not negative; no extent: no modulus.

    Shifts and masks where the numbers are powers of two: a compiler that does not know the sign
    makes several instructions of a division.
    """
    if place != 1:
        shift = bits_of(place)
        e = b.floordiv(e, place) if shift is None else b.shr(e, shift)
    if extent is None:
        return e
    if extent == 1:
        return ZERO
    return b.floormod(e, extent) if bits_of(extent) is None else b.bit_and(e, extent - 1)


def flat_offset(
    buffer: Buffer, indices: Sequence[Expr], known: Mapping[Var, int] = NOTHING
) -> Expr:
    """The offset in elements of an element of a shared buffer.

    `known` has the bits that can be set in variables (`possible_bits`): what it says of indices
    decides only the form of the result.
    """
    layout = tile_layout(buffer)
    row = None if layout.swizzle is None else _row(layout.swizzle, buffer.dtype.storage_bits)
    by_axis = dict(zip(layout.input_names, indices, strict=True))
    terms: list[_Moved] = []
    for axis in layout.inputs:
        terms += _moved(by_axis[axis.name], _cut_at_rows(axis.digits, row), known)
    if layout.swizzle is None:
        return _sum([t.value for t in terms])
    return _exchanged_parts(terms, layout.swizzle, buffer.dtype.storage_bits)


@dataclass(frozen=True, slots=True)
class _Moved:
    """What one digit makes of an index: the offset it adds, the digit, and the summands of the
    offset where no two of them share a bit."""

    value: Expr
    digit: Digit
    parts: tuple[Part, ...] | None


def _moved(index: Expr, digits: Sequence[Digit], known: Mapping[Var, int]) -> list[_Moved]:
    parts = parts_of(index, known)
    out: list[_Moved] = []
    for i, (place, d) in enumerate(zip(places(digits), digits, strict=True)):
        if d.axis is None:
            continue
        modulus = None if i == len(digits) - 1 else d.extent
        exact = bits_of(place) is not None and (modulus is None or bits_of(modulus) is not None)
        if parts is None or not exact or bits_of(d.stride) is None:
            out.append(_Moved(b.mul(digit(index, place, modulus), d.stride), d, None))
            continue
        moved = tuple(p.digit(place, modulus).times(d.stride) for p in parts)
        moved = tuple(p for p in moved if p.bits)
        out.append(_Moved(_sum([p.value for p in moved]), d, moved))
    return out


def _row(swizzle: Swizzle, element_bits: int) -> int:
    """The elements within which offsets are exchanged: those of one row of banks."""
    return (8 << (swizzle.base + swizzle.shift)) // element_bits


def _cut_at_rows(digits: Sequence[Digit], row: int | None) -> list[Digit]:
    """The digits with those cut in two that count within a row and rows."""
    out: list[Digit] = []
    for d in digits:
        head = 0 if row is None or not d.stride or row % d.stride else row // d.stride
        if 1 < head < d.extent and d.extent % head == 0:
            out += [d.head(head), d.tail(head)]
        else:
            out.append(d)
    return out


def _sum(values: Iterable[Expr]) -> Expr:
    total: Expr = ZERO
    for e in values:
        total = b.add(total, e)
    return total


def _exchanged_parts(terms: Sequence[_Moved], swizzle: Swizzle, element_bits: int) -> Expr:
    """The exchanged sum of what the digits of an offset contribute.

    Where each contributes within a row or whole rows, the exchange is written on the part within
    the row and with the rows' part alone, so that all that is the same in many accesses shows.
    """
    row = _row(swizzle, element_bits)
    period = row << swizzle.bits
    within = [t for t in terms if abs(t.digit.stride) < row]
    rows = [t for t in terms if abs(t.digit.stride) >= row]
    apart = sum((t.digit.extent - 1) * t.digit.stride for t in within) < row
    if not apart or any(t.digit.stride % row for t in rows):
        return _exchanged(_sum([t.value for t in terms]), swizzle, element_bits)
    chunk = (8 << swizzle.base) // element_bits
    mask = ((1 << swizzle.bits) - 1) * chunk
    turning = [t for t in rows if t.digit.stride % period]
    by = _exchange(turning, swizzle.shift, mask)
    known = [p for t in rows for p in t.parts or ()]
    rest = _sum([t.value for t in rows if t.parts is None])
    # What a loop over slots changes comes last: the sum before it is the same in all its trips.
    return b.add(b.add(_xor_within(within, by, mask), _in_order(known)), rest)


def _in_order(parts: Iterable[Part]) -> Expr:
    """The sum of parts, those that a thread gives before those of loops and constants."""
    return _sum([p.value for p in sorted(parts, key=lambda p: not _is_own(p.value))])


def _is_own(e: Expr) -> bool:
    return isinstance(e, Var) or (isinstance(e, Binary) and e.op in ("shr", "and"))


def _exchange(turning: Sequence[_Moved], shift: int, mask: int) -> Expr:
    """What the offset within a row is exchanged with, from the terms that say which row it is."""
    parts = _disjoint(turning)
    if parts is None:
        return b.bit_and(b.shr(_sum([t.value for t in turning]), shift), mask)
    found = [p for p in parts if p.bits >> shift & mask]
    moved = [p.digit(1 << shift, None) for p in found]
    return _sum([b.bit_and(p.value, mask) if p.bits & ~mask else p.value for p in moved])


def _disjoint(terms: Sequence[_Moved]) -> list[Part] | None:
    out: list[Part] = []
    taken = 0
    for t in terms:
        for p in t.parts or ():
            if p.bits & taken:
                return None
            taken |= p.bits
        if t.parts is None:
            return None
        out += t.parts
    return out


def _xor_within(within: Sequence[_Moved], by: Expr, mask: int) -> Expr:
    """The exchanged offset within a row: first what the thread alone decides, then what steps of
    loops add, which leaves the parts without exchanged bits outside."""
    parts = _disjoint(within)
    if parts is None:
        return b.bit_xor(_sum([t.value for t in within]), by)
    turned = sorted((p for p in parts if p.bits & mask), key=lambda p: not isinstance(p.value, Var))
    made = by
    for p in turned:
        made = b.bit_xor(p.value, made)
    return b.add(made, _sum([p.value for p in parts if not p.bits & mask]))


def _exchanged(offset: Expr, swizzle: Swizzle, element_bits: int) -> Expr:
    per_chunk = bits_of((8 << swizzle.base) // element_bits)
    if per_chunk is None:
        raise InternalError("E9001", f"`{swizzle}` on elements of {element_bits} bits")
    mask = ((1 << swizzle.bits) - 1) << per_chunk
    return b.bit_xor(offset, b.bit_and(b.shr(offset, swizzle.shift), mask))
