"""Copies of a box that some registers of every thread hold between them.

The copy is one of a smaller fragment. Where its registers are a run of the large one's it names
those; else they are moved, and the target's compiler gives both the same registers.
"""

from __future__ import annotations

from dataclasses import replace as replace_dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Expr, Load, Ramp, rewrite
from tile_ir.ops import Copy, For, MatrixStore
from tile_ir.rewrite import map_exprs, map_stmts, replace
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import ZERO
from tile_passes.lower.threads.context import declared, put
from tile_passes.lower.threads.moves import lower_copy
from tile_passes.lower.threads.parts import Part, part_of
from tile_passes.lower.threads.pieces import Item, Items, Nest, Piece
from tile_passes.lower.threads.spread import ONE

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_copy_of_parts"]

_REGISTER_BITS = 32


def lower_copy_of_parts(s: Stmt, cx: ThreadContext) -> Items:
    """A copy in which fragments may take part with a box of theirs."""
    assert isinstance(s, Copy)
    before: Items = ()
    after: Items = ()
    src, dst = s.src, s.dst
    run = _start_of_run(src, cx) if _is_part(src, cx) else None
    if run is not None:
        part, _ = _room(src, s, cx)
        items = lower_copy_of_parts(replace(s, src=part), cx)
        return tuple(_renamed(item, part.buffer, src.buffer, run) for item in items)
    if _is_part(src, cx):
        src, before = _taken(src, s, cx)
    if _is_part(dst, cx):
        part, lead = _room(dst, s, cx)
        before += lead
        after = (Piece(_moved(part, dst, s, cx, into=False)),)
        dst = part
    return (*before, *lower_copy(replace(s, src=src, dst=dst), cx), *after)


def _is_part(region: Region, cx: ThreadContext) -> bool:
    buffer = cx.buffers[region.buffer]
    return buffer.scope == "fragment" and any(
        r.extent is not full for r, full in zip(region.ranges, buffer.shape, strict=True)
    )


def _start_of_run(region: Region, cx: ThreadContext) -> int | None:
    """The first register of a box that is all registers from there on in a row."""
    buffer = cx.buffers[region.buffer]
    found = part_of(region, buffer)
    assert found is not None  # other fragments were moved to shared memory
    in_a_row = len(found.runs) == 1 and found.runs[0][1] == 1
    return found.base if in_a_row and _together(found, buffer) > 1 else None


def _renamed(item: Item, part: str, whole: str, base: int) -> Item:
    """An item that reads registers of `whole` in place of those of `part`."""
    if isinstance(item, Nest):
        inner = tuple(
            (name, tuple(_renamed(i, part, whole, base) for i in items))
            for name, items in item.bodies
        )
        return replace_dataclass(item, bodies=inner)
    memo: dict[Expr, Expr] = {}

    def expr(e: Expr) -> Expr:
        return rewrite(e, load, memo)

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer == part:
            return Load(whole, tuple(_later(i, base) for i in e.indices), e.dtype)
        return None

    def visit(t: Stmt) -> Stmt:
        t = map_exprs(t, expr)
        if isinstance(t, MatrixStore) and t.src.buffer == part:
            ranges = tuple(Range(b.add(r.start, base), r.extent) for r in t.src.ranges)
            t = replace(t, src=Region(whole, ranges))
        return t

    return replace_dataclass(item, body=map_stmts(item.body, visit))


def _later(index: Expr, base: int) -> Expr:
    if isinstance(index, Ramp):
        return b.ramp(b.add(index.base, base), index.stride, index.dtype.lanes)
    return b.add(index, base)


def _room(region: Region, s: Copy, cx: ThreadContext) -> tuple[Region, Items]:
    buffer = cx.buffers[region.buffer]
    found = part_of(region, buffer)
    assert found is not None  # other fragments were moved to shared memory
    shape = [int(r.extent.value) for r in region.ranges]  # type: ignore[attr-defined]  # tiles are static
    part, alloc = cx.fragment(f"{buffer.name}_part", buffer.dtype, shape, found.layout)
    return b.whole(part), (declared(alloc),)


def _taken(region: Region, s: Copy, cx: ThreadContext) -> tuple[Region, Items]:
    part, lead = _room(region, s, cx)
    return part, (*lead, Piece(_moved(part, region, s, cx, into=True)))


def _moved(part: Region, whole: Region, s: Copy, cx: ThreadContext, *, into: bool) -> Body:
    """Registers of a box to those of its own fragment, or back."""
    small, large = cx.buffers[part.buffer], cx.buffers[whole.buffer]
    found = part_of(whole, large)
    assert found is not None  # asked before
    lanes = _together(found, large)
    near: Expr = ZERO
    far: Expr = b.const(found.base, i32)
    loops, place, step = [], 1, lanes
    for extent, stride in found.runs:
        var = cx.names.var("v")
        near, far = b.add(near, b.mul(var, place * step)), b.add(far, b.mul(var, stride * step))
        loops.append((var, extent // step))
        place, step = place * extent, 1
    target, source = ((small, near), (large, far)) if into else ((large, far), (small, near))
    value = Load(source[0].name, _lanes(source[1], lanes), source[0].dtype.with_lanes(lanes))
    body: Body = (put(target[0], _lanes(target[1], lanes), value, s.span),)
    for var, extent in loops:
        stop = b.const(extent, i32)
        body = (For(var=var, start=ZERO, stop=stop, step=ONE, kind="unroll", body=body),)
    return body


def _together(part: Part, buffer: Buffer) -> int:
    """How many elements to move at once: narrow ones share a register only if they move so."""
    bits = buffer.dtype.storage_bits
    lanes = _REGISTER_BITS // bits if bits in (8, 16) else 1
    extent, place = part.runs[0] if part.runs else (1, 1)
    return lanes if place == 1 and extent % lanes == 0 and part.base % lanes == 0 else 1


def _lanes(at: Expr, lanes: int) -> tuple[Expr, ...]:
    return (at if lanes == 1 else b.ramp(at, 1, lanes),)
