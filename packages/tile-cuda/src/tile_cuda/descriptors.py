"""How asynchronous matrix instructions find an operand in shared memory.

The matrix descriptor holds an address and two distances in units of 16 bytes ("Matrix Descriptor
Format" and "Strides" of wgmma in the PTX ISA). A row of an exchanged tile is `row_bytes` wide; 8
such rows make the pattern that repeats.

* Contiguous along k: the stride is between groups of 8 rows (m or n); the lead only counts without
  an exchange, between chunks of 16 bytes along k.
* Contiguous along m or n: a row holds `row_bytes` of m or n for one k. The stride is between groups
  of 8 k, the lead between neighbouring rows' worth of m or n; without an exchange the two change
  places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cuda.shared_tiles import chunk_offset, shared_box
from tile_ir.diag import InternalError

if TYPE_CHECKING:
    from tile_cuda.shared_tiles import Pieces, SharedBox
    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr

__all__ = ["Descriptor", "SharedOperand", "shared_operand"]

SWIZZLE_CODES = {128: 1, 64: 2, 32: 3, 16: 0}
"""Bytes of an exchanged row -> the descriptor's bits 62 and 63."""
PATTERN_ROWS = 8
UNUSED = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """What all regions of a buffer share that are read in one way; bytes."""

    buffer: str
    swizzle: int
    lead: int
    stride: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedOperand:
    """One operand: its descriptor, where it starts (in chunks), its extents, whether m or n is the
    contiguous axis."""

    descriptor: Descriptor
    start: Expr
    mn: int
    k: int
    mn_major: bool


def shared_operand(buffer: Buffer, region: Region, mn_first: bool) -> SharedOperand:
    """Describe a region as the operand of one instruction; its axes are m or n and k.

    Raises InternalError E9001 for a layout that no descriptor says.
    """
    box = shared_box(buffer, region)
    if len(box.axes) != 2:
        raise InternalError("E9001", f"an operand in {buffer.name} with {len(box.axes)} axes")
    mn, k = box.axes if mn_first else box.axes[::-1]
    size = buffer.dtype.storage_bits // 8
    mn_major = mn[0][1] == 1
    rows, along = (k, mn) if mn_major else (mn, k)
    lead, stride = _distances(box, rows, along, size, mn_major, buffer.name)
    return SharedOperand(
        descriptor=Descriptor(
            buffer=buffer.name, swizzle=SWIZZLE_CODES[box.row_bytes], lead=lead, stride=stride
        ),
        start=chunk_offset(buffer, [r.start for r in region.ranges]),
        mn=box.extents[0 if mn_first else 1],
        k=box.extents[1 if mn_first else 0],
        mn_major=mn_major,
    )


def _distances(
    box: SharedBox, rows: Pieces, along: Pieces, size: int, mn_major: bool, name: str
) -> tuple[int, int]:
    """Lead and stride in bytes. `along` is the contiguous axis, `rows` the other one."""
    per_row = box.row_bytes // size
    across = _step(along, per_row, name) * size
    group = _step(rows, PATTERN_ROWS, name) * size
    if along[0][1] != 1 or _at(rows, 1) * size != box.row_bytes:
        raise InternalError("E9001", f"the rows of {name} are not {box.row_bytes} bytes apart")
    if box.row_bytes > UNUSED:
        return (across if mn_major else 0) or UNUSED, group or UNUSED
    return (group, across) if mn_major else (across, group)


def _step(pieces: Pieces, unit: int, name: str) -> int:
    """The distance of coordinates `unit` apart, the same along the axis; 0 where there is one."""
    extent = 1
    for size, _ in pieces:
        extent *= size
    steps = {_at(pieces, i + unit) - _at(pieces, i) for i in range(0, extent - unit, unit)}
    if len(steps) > 1:
        raise InternalError("E9001", f"groups of {unit} in {name} have several distances")
    return steps.pop() if steps else 0


def _at(pieces: Pieces, coordinate: int) -> int:
    offset = 0
    for extent, stride in pieces:
        offset += coordinate % extent * stride
        coordinate //= extent
    return offset
