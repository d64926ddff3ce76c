"""Results that leave through a copy engine: put into a slot by all threads, carried off by the
engine, which gives the slot back when it has read it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Const, Slot
from tile_ir.ops import Acquire, Alloc, AtomicTile, Channel, Commit, Copy, End, Issue, SettleCount

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.outlets import Outlet


def store_channel(outlet: Outlet, warps: int) -> Channel:
    """The channel from the compute role's warps to the engine."""
    return Channel(
        name=outlet.channel,
        depth=outlet.depth,
        carries=(outlet.buffer.name,),
        producer=End("role", "compute", warps // outlet.groups, per_group=outlet.groups > 1),
        consumer=End("engine", outlet.engine),
        span=outlet.drain.stmt.span,
    )


def stage_of(outlet: Outlet) -> Alloc:
    """The declaration of the planner's own buffer, with its slots."""
    return Alloc(buffer=dataclasses.replace(outlet.buffer, slots=outlet.depth))


def store(outlet: Outlet) -> Body:
    """The statements in place of the copy: for each chunk a slot, the chunk put into it, the
    engine's copy. Of the program's own shared buffer only the last is left to do.
    """
    if not outlet.staged:
        return (*_issued(outlet, outlet.drain.stmt),)
    out: list[Stmt] = []
    stmt, span = outlet.drain.stmt, outlet.drain.stmt.span
    rows, columns = (int(n.value) for n in outlet.buffer.shape)  # type: ignore[attr-defined]  # constants
    slot = Region(
        outlet.buffer.name,
        tuple(Range(b.const(0), n) for n in outlet.buffer.shape),
        Slot(outlet.channel),
    )
    for row, column in outlet.chunks:
        box = ((row, rows), (column, columns))
        out.append(Acquire(channel=outlet.channel, span=span))
        out.append(Copy(src=part(stmt.src, box), dst=slot, span=span))
        moved = dataclasses.replace(stmt, src=slot, dst=part(stmt.dst, box))
        out += _issued(outlet, moved)
    return tuple(out)


def _issued(outlet: Outlet, copy: Copy | AtomicTile) -> tuple[Issue, Commit]:
    span = copy.span
    return (
        Issue(engine=outlet.engine, body=(copy,), span=span),
        Commit(channel=outlet.channel, span=span),
    )


def part(region: Region, box: tuple[tuple[int, int], tuple[int, int]]) -> Region:
    """The (first, count) pairs of `box` within a region, along its axes that are longer than 1."""
    long = [i for i, r in enumerate(region.ranges) if not _is_one(r.extent)]
    ranges = list(region.ranges)
    for axis, (first, count) in zip(long, box, strict=True):
        start = b.add(ranges[axis].start, first)
        ranges[axis] = Range(start, b.const(count))
    return Region(region.buffer, tuple(ranges), region.slot)


def _is_one(extent: object) -> bool:
    return isinstance(extent, Const) and extent.value == 1


def last_settles(outlets: Iterable[Outlet]) -> Body:
    """Before a block ends its engines have read all that was put before them."""
    engines = dict.fromkeys(o.engine for o in outlets)
    return tuple(SettleCount(engine=e, pending=0, read=True) for e in engines)
