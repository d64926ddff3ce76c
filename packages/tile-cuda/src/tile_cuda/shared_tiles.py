"""Where a region of a shared tile lies, for engines that address whole boxes.

Such a tile keeps its layout: digits for each axis and one exchange on the byte offset. The engines
apply the exchange themselves, on the bits of the address, so all offsets here are without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.layout.tile import TileLayout
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Region

__all__ = ["Pieces", "SharedBox", "chunk_offset", "element_offset", "shared_box"]

CHUNK_BITS = 128
"""What the exchange moves as one, and the unit of addresses in descriptors: 16 bytes."""
Pieces = tuple[tuple[int, int], ...]
"""(extent, stride in elements) of an axis, fastest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBox:
    """A region without its unit axes: the pieces of each axis, and bytes of the exchanged row.

    `row_bytes` is 128, 64 or 32 with an exchange of the row's chunks by the row's number, 16
    without one.
    """

    axes: tuple[Pieces, ...]
    row_bytes: int

    @property
    def extents(self) -> tuple[int, ...]:
        """Elements along each axis."""
        return tuple(math.prod(extent for extent, _ in pieces) for pieces in self.axes)


def shared_box(buffer: Buffer, region: Region) -> SharedBox:
    """Describe a region of constant extents.

    Raises InternalError E9001 for what no engine takes.
    """
    axes = []
    for digits, r in zip(_digits(buffer), region.ranges, strict=True):
        assert isinstance(r.extent, Const)  # regions of shared tiles have constant extents
        if r.extent.value != 1:
            axes.append(_taken(digits, int(r.extent.value), buffer))
    return SharedBox(axes=tuple(axes), row_bytes=_row_bytes(buffer))


def _row_bytes(buffer: Buffer) -> int:
    swizzle = buffer.layout.swizzle if buffer.layout is not None else None
    if swizzle is None:
        return CHUNK_BITS // 8
    if (swizzle.base, swizzle.shift) != (4, 3) or swizzle.bits > 3:
        raise InternalError("E9001", f"{buffer.name}: no engine applies {swizzle}")
    return 16 << swizzle.bits


def _digits(buffer: Buffer) -> tuple[Pieces, ...]:
    """The pieces of every axis, joined where one goes on where the one before ends."""
    layout = buffer.layout
    if layout is None:
        return _row_major(buffer)
    if not isinstance(layout, TileLayout):
        raise InternalError("E9001", f"{buffer.name}: an engine and the layout `{layout}`")
    return tuple(_joined([(d.extent, d.stride) for d in a.digits]) for a in layout.inputs)


def _row_major(buffer: Buffer) -> tuple[Pieces, ...]:
    found: list[Pieces] = []
    step = 1
    for extent in reversed(buffer.shape):
        assert isinstance(extent, Const)  # shared memory has constant shapes
        found.append(((int(extent.value), step),))
        step *= int(extent.value)
    return tuple(reversed(found))


def _joined(digits: Sequence[tuple[int, int]]) -> Pieces:
    out: list[tuple[int, int]] = []
    for extent, stride in digits:
        if out and stride == out[-1][0] * out[-1][1]:
            out[-1] = (out[-1][0] * extent, out[-1][1])
        else:
            out.append((extent, stride))
    return tuple(out)


def _taken(digits: Pieces, extent: int, buffer: Buffer) -> Pieces:
    """The pieces of the first `extent` coordinates."""
    out, rest = [], extent
    for size, stride in digits:
        out.append((min(size, rest), stride))
        if rest <= size:
            return tuple(out)
        if rest % size:
            break
        rest //= size
    raise InternalError("E9001", f"a region of {extent} on an axis {digits} of {buffer.name}")


def element_offset(buffer: Buffer, starts: Sequence[Expr]) -> Expr:
    """The offset of an element, in elements."""
    return _offset(buffer, starts, 1)


def chunk_offset(buffer: Buffer, starts: Sequence[Expr]) -> Expr:
    """The offset of an element that starts a chunk, in chunks of 16 bytes."""
    return _offset(buffer, starts, CHUNK_BITS // buffer.dtype.storage_bits)


def _offset(buffer: Buffer, starts: Sequence[Expr], unit: int) -> Expr:
    """The sum over all pieces in units of so many elements; steps that are no multiple of the unit
    are added up before they are divided."""
    whole: Expr = Const(0, i32)
    part: Expr = Const(0, i32)
    for pieces, start in zip(_digits(buffer), starts, strict=True):
        place = 1
        for n, (extent, stride) in enumerate(pieces):
            index = b.floordiv(b.cast(start, i32), place) if place > 1 else b.cast(start, i32)
            if n + 1 < len(pieces):
                index = b.floormod(index, extent)
            if stride % unit:
                part = b.add(part, b.mul(index, stride))
            else:
                whole = b.add(whole, b.mul(index, stride // unit))
            place *= extent
    return b.add(whole, b.floordiv(part, unit)) if unit > 1 else b.add(whole, part)
