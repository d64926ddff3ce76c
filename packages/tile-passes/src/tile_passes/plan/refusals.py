"""Why an engine cannot carry out a copy, in words; it can where there is nothing to say.

The planner asks whether it can, and who explains a plan asks why not: both ask here.
"""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_passes.analysis.facts import Facts

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.ops import AtomicTile, Copy
    from tile_ir.target.memory import CopyEngine

__all__ = ["accepts", "extents", "load_refused", "store_refused", "takes"]

_NOTHING = Facts.of_dims(())

_WIDEST_ROW = 128
"""Bytes of the widest panel of a shared tile; wider rows are cut into such."""


def extents(region: Region) -> tuple[int, ...]:
    """The constant extents of a region, leading unit axes dropped down to two axes; 0 for one that
    is not constant.
    """
    sizes = [int(r.extent.value) if isinstance(r.extent, Const) else 0 for r in region.ranges]
    while len(sizes) > 2 and sizes[0] == 1:
        del sizes[0]
    return tuple(sizes)


def accepts(engine: CopyEngine, stmt: Copy, source: Buffer, target: Buffer) -> bool:
    """Whether an engine can carry out a copy to shared memory, as far as constants tell; alignment
    of pointers and strides is a fact that the host checks at launch.
    """
    return not load_refused(engine, stmt, source, target)


def load_refused(engine: CopyEngine, stmt: Copy, source: Buffer, target: Buffer) -> str:
    """Why an engine cannot bring a copy to shared memory; empty where it can."""
    dtype, safe = target.dtype, source.safe_value
    if source.dtype is not dtype:
        return f"it would convert {source.dtype} to {dtype}"
    if dtype.storage_bits % 8:
        return f"elements of {dtype} share bytes"
    if stmt.clip and not (engine.fill and (safe is None or _is_zero(safe))):
        what = "a value of its own" if engine.fill else "zeros"
        return f"elements outside of {source.name} would have to arrive as {what}"
    sizes = extents(stmt.src)
    if not all(sizes):
        return "its extents are not constant"
    row = sizes[-1] * dtype.storage_bits // 8
    if row % engine.granularity:
        return f"rows of {row} bytes are no multiple of {engine.granularity}"
    why = _misaligned(engine, source)
    if not why and engine.elect:
        why = _starts_amiss(engine, stmt.src, source)
    return why or _pieces_refused(engine, sizes, row, source)


def _pieces_refused(engine: CopyEngine, sizes: tuple[int, ...], row: int, source: Buffer) -> str:
    if engine.bytes and not any(row % n == 0 for n in engine.bytes):
        return f"rows of {row} bytes are no multiple of {min(engine.bytes)}"
    if not _slots_aligned(engine, prod(sizes[:-1]), row):
        return f"tiles of {prod(sizes[:-1]) * row} bytes would not begin where a box may"
    if engine.elect and source.rank > engine.max_rank:
        return f"{source.name} has {source.rank} axes, a box has at most {engine.max_rank}"
    return ""


def takes(engine: CopyEngine, stmt: Copy | AtomicTile, source: Buffer, target: Buffer) -> bool:
    """Whether an engine can carry a copy out of shared memory, where `source` has the elements of
    `target` already or gets them on its way there.
    """
    return not store_refused(engine, stmt, source, target)


def store_refused(
    engine: CopyEngine, stmt: Copy | AtomicTile, source: Buffer, target: Buffer
) -> str:
    """Why an engine cannot carry a copy out of shared memory; empty where it can."""
    dtype = target.dtype
    sizes = [n for n in extents(stmt.dst) if n != 1]
    if source.scope == "shared" and source.dtype is not dtype:
        return f"it would convert {source.dtype} to {dtype}"
    if source.rank != 2 or len(sizes) != 2 or tuple(sizes) != extents(stmt.src):
        return "it is no box of two axes with constant extents"
    row = sizes[-1] * dtype.storage_bits
    if dtype.storage_bits % 8:
        return f"elements of {dtype} share bytes"
    if row % (8 * engine.granularity):
        return f"rows of {row // 8} bytes are no multiple of {engine.granularity}"
    if target.rank > engine.max_rank:
        return f"{target.name} has {target.rank} axes, a box has at most {engine.max_rank}"
    if stmt.clip and not engine.fill:
        return f"elements outside of {target.name} would have to be left out"
    if not _slots_aligned(engine, sizes[0], row // 8):
        return f"tiles of {sizes[0] * row // 8} bytes would not begin where a box may"
    return _misaligned(engine, target) or _starts_amiss(engine, stmt.dst, target)


def _slots_aligned(engine: CopyEngine, rows: int, row_bytes: int) -> bool:
    """Whether slots of so many rows, and panels of them a swizzled row wide, begin where a box
    may."""
    return rows * gcd(row_bytes, _WIDEST_ROW) % engine.shared_alignment == 0


def _misaligned(engine: CopyEngine, buffer: Buffer) -> str:
    """Which constant stride of a global buffer breaks what the engine demands of addresses."""
    strides = buffer.strides if buffer.strides is not None else _row_major(buffer)
    *outer, inner = strides
    if isinstance(inner, Const) and inner.value != 1:
        return f"neighbours along the last axis of {buffer.name} are {inner.value} elements apart"
    size = buffer.dtype.storage_bits // 8
    for s in outer:
        if isinstance(s, Const) and int(s.value) * size % engine.alignment:
            apart = int(s.value) * size
            return (
                f"rows of {buffer.name} are {apart} bytes apart, no multiple of {engine.alignment}"
            )
    return ""


def _starts_amiss(engine: CopyEngine, region: Region, buffer: Buffer) -> str:
    """Whether a box begins, along its contiguous axis, where the engine may not: a start elsewhere
    stops the device, whatever the alignment of addresses (measured on hardware)."""
    unit = max(1, engine.granularity * 8 // buffer.dtype.storage_bits)
    start = region.ranges[-1].start
    if _NOTHING.linear(start).divisor() % unit == 0:
        return ""
    return f"it begins at {start} along the last axis, not known to be a multiple of {unit}"


def _row_major(buffer: Buffer) -> tuple[Expr, ...]:
    """The strides of a contiguous buffer."""
    out: list[Expr] = [b.const(1)]
    for extent in reversed(buffer.shape[1:]):
        out.append(b.mul(out[-1], extent))
    return tuple(reversed(out))


def _is_zero(e: object) -> bool:
    return isinstance(e, Const) and e.value == 0
