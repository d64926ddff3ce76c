"""Where an element of a buffer is in one thread's program: shared memory is flat, with the layout
written out as index arithmetic.

Shared buffers keep their name and become one axis long; layouts of several digits and the XOR on
byte offsets turn into divisions, products and bit operations on the coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.layout import TileLayout, row_major
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer
    from tile_ir.layout import Swizzle

__all__ = ["bits_of", "digit", "flat_offset", "flattened", "static_shape", "tile_layout"]

ZERO = b.const(0, i32)


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


def flat_offset(buffer: Buffer, indices: Sequence[Expr]) -> Expr:
    """The offset in elements of an element of a shared buffer."""
    layout = tile_layout(buffer)
    by_axis = dict(zip(layout.input_names, indices, strict=True))
    total: Expr = ZERO
    for term in layout.terms():
        moved = digit(by_axis[term.input], term.divisor, term.modulus)
        total = b.add(total, b.mul(moved, term.stride))
    if layout.swizzle is None:
        return total
    return _exchanged(total, layout.swizzle, buffer.dtype.storage_bits)


def _exchanged(offset: Expr, swizzle: Swizzle, element_bits: int) -> Expr:
    per_chunk = bits_of((8 << swizzle.base) // element_bits)
    if per_chunk is None:
        raise InternalError("E9001", f"`{swizzle}` on elements of {element_bits} bits")
    mask = ((1 << swizzle.bits) - 1) << per_chunk
    return b.bit_xor(offset, b.bit_and(b.shr(offset, swizzle.shift), mask))
