"""Asynchronous copies: boxes that one thread starts, and short runs that every thread starts for
itself.

An engine that moves boxes fills shared memory in the order of the box, so a tile whose layout has
several columns takes a box for each. Runs are dealt to threads as in an ordinary copy; what the
engine cannot take that way is copied at once, which only loses overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.diag import InternalError
from tile_ir.ops import (
    AsyncCopy,
    AtomicTile,
    BarrierExpect,
    BoxLoad,
    BoxStore,
    Copy,
    For,
    Gemm,
    If,
    Issue,
)
from tile_ir.rewrite import map_exprs, map_stmts, replace
from tile_ir.types import i32
from tile_passes.lower.context import long_axes
from tile_passes.lower.threads.addresses import ZERO, digit, tile_layout
from tile_passes.lower.threads.alignment import run_in_memory
from tile_passes.lower.threads.async_products import lower_issued_product
from tile_passes.lower.threads.context import guarded
from tile_passes.lower.threads.elementwise import Elements
from tile_passes.lower.threads.groups import group_threads
from tile_passes.lower.threads.moves import Side, lower_copy
from tile_passes.lower.threads.owners import BY_ENGINE
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.spread import ONE, dealt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import CopyEngine
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_issue"]


def lower_issue(s: Stmt, cx: ThreadContext) -> Items:
    """What an engine is given, as operations of the threads that give it."""
    assert isinstance(s, Issue)
    inner = map_exprs(s.body[0], Elements(cx).expr)
    if isinstance(inner, Gemm):
        return lower_issued_product(inner, cx)
    engine = cx.target.copy.get(s.engine)
    if engine is None or not isinstance(inner, (Copy, AtomicTile)):
        raise InternalError("E9001", f"nothing can be issued on {s.engine}", span=s.span)
    if engine.bytes and isinstance(inner, Copy):
        return _runs(inner, engine, cx)
    stored = () if cx.buffers[inner.dst.buffer].scope == "shared" else (inner.dst.buffer,)
    return (Piece(_boxes(inner, s, engine, cx), tuple((n, BY_ENGINE) for n in stored)),)


# -- boxes


@dataclass(frozen=True, slots=True)
class _Cut:
    """One axis of the region cut into `count` parts of `size`."""

    size: int
    count: int


def _boxes(
    s: Copy | AtomicTile, issue: Issue, engine: CopyEngine, cx: ThreadContext
) -> tuple[Stmt, ...]:
    loads = cx.buffers[s.dst.buffer].scope == "shared"
    tile, far = (s.dst, s.src) if loads else (s.src, s.dst)
    cuts = _cuts(cx.buffers[tile.buffer], tile, engine)
    own, parts = -1, issue.multicast
    rank: Expr = b.call("block_rank")
    apart = not loads and _per_group(tile, cx)
    if issue.multicast > 1:
        own, cuts = _shared_out(cuts, issue.multicast, cx.buffers[tile.buffer])
    elif apart:  # each group of warps has the rows that it wrote itself
        own, parts = len(cuts) - 2, cx.threads // group_threads(cx.target)
        rank = digit(cx.thread, group_threads(cx.target), None) if cx.group is None else cx.group
        cuts = _in_parts(cuts, own, parts)
    pairs = dict(zip(long_axes(tile), long_axes(far), strict=True))
    far_cuts = {pairs[axis]: (axis, cut) for axis, cut in enumerate(cuts) if axis in pairs}
    counts = [n.count // (parts if i == own else 1) for i, n in enumerate(cuts)]
    loops = {axis: cx.names.var("box", i32) for axis, count in enumerate(counts) if count > 1}
    at: dict[int, Expr] = dict(loops)
    if own >= 0:
        at[own] = b.add(b.mul(rank, counts[own]), loops.get(own, ZERO))

    def part(r: Range, axis: int, cut: _Cut) -> Range:
        start = b.add(r.start, b.mul(at[axis], cut.size)) if axis in at else r.start
        return Range(start, b.const(cut.size, i32))

    near = [part(r, i, cut) for i, (r, cut) in enumerate(zip(tile.ranges, cuts, strict=True))]
    away = [
        part(r, *far_cuts[i]) if i in far_cuts else Range(r.start, ONE)
        for i, r in enumerate(far.ranges)
    ]
    box, place = Region(tile.buffer, tuple(near)), Region(far.buffer, tuple(away))
    how = s.kind if isinstance(s, AtomicTile) else ""
    body: tuple[Stmt, ...] = (BoxStore(src=box, dst=place, reduce=how, span=s.span),)
    if loads:
        multicast = b.const((1 << issue.multicast) - 1, i32) if own >= 0 else None
        hint = s.eviction if isinstance(s, Copy) else "normal"
        body = (_box_load(place, box, issue, multicast, hint, s.span, cx),)
    for axis, var in reversed(loops.items()):
        count = b.const(counts[axis], i32)
        body = (For(var=var, start=ZERO, stop=count, step=ONE, kind="unroll", body=body),)
    if issue.mask:
        body = _by_first(issue, body, cx)
    if issue.index is not None and not issue.untold:
        body = (_announced(tile, issue, s.span, cx), *body)
    if cx.threads > 1:
        number = b.floormod(cx.thread, group_threads(cx.target)) if apart else cx.thread
        body = (If(cond=b.eq(number, 0), then=body, span=s.span),)
    return body


def _box_load(
    src: Region,
    dst: Region,
    issue: Issue,
    multicast: Expr | None,
    eviction: str,
    span: Span | None,
    cx: ThreadContext,
) -> Stmt:
    barrier, index = _completion(issue, cx)
    return BoxLoad(
        src=src,
        dst=dst,
        barrier=barrier,
        index=index,
        multicast=multicast,
        eviction=eviction,
        span=span,
    )


def _by_first(issue: Issue, body: Body, cx: ThreadContext) -> Body:
    """The loads by the first of the blocks that get them; each other block brings its own."""
    first, every = (issue.mask & -issue.mask).bit_length() - 1, b.const(issue.mask)
    rank = b.call("block_rank")

    def to_all(s: Stmt) -> Stmt | None:
        return replace(s, multicast=every) if isinstance(s, BoxLoad) else None

    together = map_stmts(body, to_all)
    alone = b.eq(b.bit_and(b.shr(every, rank), 1), 0)
    others: Body = (If(cond=alone, then=body, span=issue.span),)
    return (If(cond=b.eq(rank, first), then=together, orelse=others, span=issue.span),)


def _announced(tile: Region, issue: Issue, span: Span | None, cx: ThreadContext) -> Stmt:
    """The bytes that a load brings, told to the kernel's own barrier, without an arrival."""
    buffer = cx.buffers[tile.buffer]
    barrier, index = _completion(issue, cx)
    size = prod(_extents(Side(buffer, tile, long_axes(tile), clip=False)))
    size = size * buffer.dtype.storage_bits // 8
    return BarrierExpect(barrier=barrier, index=index, bytes=size, silent=True, span=span)


def _completion(issue: Issue, cx: ThreadContext) -> tuple[str, Expr]:
    """The barrier onto which a load completes: the kernel's own, or its channel's."""
    if issue.index is not None:
        return issue.onto, Elements(cx).expr(issue.index)
    ring = cx.rings[issue.onto]
    return ring.full, ring.producer.at()


def _per_group(tile: Region, cx: ThreadContext) -> bool:
    """Whether each group of warps fills its own rows of a tile's slots."""
    several = cx.threads > group_threads(cx.target)
    found = (r.channel for r in cx.rings.values() if tile.buffer in r.channel.carries)
    return several and any(c.producer.per_group for c in found)


def _in_parts(cuts: list[_Cut], axis: int, parts: int) -> list[_Cut]:
    """An axis that was whole, cut evenly."""
    assert cuts[axis].count == 1  # the planner made the chunk so
    part = _Cut(cuts[axis].size // parts, parts)
    return [*cuts[:axis], part, *cuts[axis + 1 :]]


def _shared_out(cuts: list[_Cut], blocks: int, buffer: Buffer) -> tuple[int, list[_Cut]]:
    """The axis along which blocks share the boxes evenly, and the cuts for that.

    Raises:
        InternalError: E9001 where no axis divides.
    """
    for axis, cut in enumerate(cuts):
        if cut.count % blocks == 0:
            return axis, cuts
    layout = tile_layout(buffer)
    unit = layout.swizzle.alignment * 8 // buffer.dtype.storage_bits if layout.swizzle else 1
    for axis, cut in enumerate(cuts):
        run = prod(c.size for c in cuts[axis + 1 :])
        if cut.size % blocks == 0 and axis < len(cuts) - 1 and cut.size // blocks * run % unit == 0:
            part = _Cut(cut.size // blocks, cut.count * blocks)
            return axis, [*cuts[:axis], part, *cuts[axis + 1 :]]
    raise InternalError("E9001", f"{blocks} blocks cannot share the boxes of {buffer.name}")


def _cuts(buffer: Buffer, tile: Region, engine: CopyEngine) -> list[_Cut]:
    """How each axis of a shared tile's region is cut, so that every part is one run of memory.

    Raises:
        InternalError: E9001 where the layout is not that of boxes; the planner chose the engine.
    """
    layout = tile_layout(buffer)
    out: list[_Cut] = []
    run = 1
    for axis, r in reversed(list(zip(layout.inputs, tile.ranges, strict=True))):
        extent = int(r.extent.value)  # type: ignore[attr-defined]  # tiles are static
        first = axis.digits[0] if axis.digits else None
        size = extent if first is None else min(extent, first.extent)
        if engine.max_box and size > engine.max_box:
            size = next(n for n in range(engine.max_box, 0, -1) if size % n == 0)
        apart = size > 1 and first is not None and first.stride != run
        aligned = run * buffer.dtype.storage_bits // 8 % engine.shared_alignment == 0
        if apart and aligned and out and out[-1].count > 1:
            size, apart = 1, False  # rows that are cut lie apart: boxes of one row
        if extent % size or apart:
            raise InternalError("E9001", f"{buffer.name} as {layout} is no box of {engine.name}")
        run *= size
        out.append(_Cut(size, extent // size))
    return out[::-1]


# -- runs


def _runs(s: Copy, engine: CopyEngine, cx: ThreadContext) -> Items:
    a = Side(cx.buffers[s.src.buffer], s.src, long_axes(s.src), s.clip)
    c = Side(cx.buffers[s.dst.buffer], s.dst, long_axes(s.dst), clip=False)
    vector = _vector(a, c, engine, cx)
    if vector == 0:
        return lower_copy(s, cx)
    extents = _extents(c)
    over = cx.spread(dealt(extents, cx.threads, vector), extents, vector)
    source, target = a.indices(over), cx.place(c.buffer, c.indices(over))
    one = AsyncCopy(
        src=_run(a.buffer, source, vector),
        dst=_run(c.buffer, target, vector),
        where=a.inside(over, cx),
        span=s.span,
    )
    return (Piece(over.nest(guarded((one,), over.first, span=s.span), s.span)),)


def _extents(side: Side) -> list[int]:
    return [int(side.region.ranges[i].extent.value) for i in side.axes]  # type: ignore[attr-defined]  # tiles are static


def _run(buffer: Buffer, at: Sequence[Expr], vector: int) -> Region:
    *outer, last = at
    ranges = (*(Range(i, ONE) for i in outer), Range(last, b.const(vector, i32)))
    return Region(buffer.name, ranges)


def _vector(a: Side, c: Side, engine: CopyEngine, cx: ThreadContext) -> int:
    """The longest run in elements that the engine takes on both sides, 0 where it takes none."""
    bits = a.buffer.dtype.storage_bits
    if a.buffer.dtype is not c.buffer.dtype or not c.axes or a.buffer.safe_value is not None:
        return 0
    sizes = [8 * n // bits for n in engine.bytes if 8 * n % bits == 0]
    last = _extents(c)[-1]
    for size in sorted(sizes, reverse=True):
        fits = last % size == 0 and all(
            run_in_memory(side.buffer, side.region, side.axes[-1], size, cx, clip=side.clip) >= size
            for side in (a, c)
        )
        if size and size & (size - 1) == 0 and fits:
            return size
    return 0
