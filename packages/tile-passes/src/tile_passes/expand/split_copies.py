"""Copies in two steps, for machines on which nothing copies while threads compute: a fetch into
registers, an iteration ahead, and a deposit from there into the channel's slot.

The fetch stands before the iteration's first reader and behind its wait, so that loads are under
way while the iteration works. The deposit stands where the slot is free again without a barrier of
its own: behind the last reader where another slot is free, else behind the wait for another channel
that comes before the next reader. Where there is neither, acquiring the slot costs a barrier.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tile_ir.core import Buffer
from tile_ir.expr import Slot
from tile_ir.layout import parse_layout
from tile_ir.ops import Acquire, Alloc, Commit, Copy
from tile_ir.rewrite import replace
from tile_passes.expand.instances import Carried, Item
from tile_passes.expand.slots import with_slots
from tile_passes.plan.plan_roles import STAGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tile_ir.opdef import Body
    from tile_passes.plan.channels import Ring
    from tile_passes.plan.model import Plan
    from tile_passes.plan.survey import Fill


def held_tiles(
    rings: Iterable[Ring], kernel: str, plan: Plan, buffers: Mapping[str, Buffer]
) -> list[Alloc]:
    """The registers that hold tiles between their two steps, in the source's type."""
    fills = (f for r in rings if r.engine == STAGED and r.loop is not None for f in r.fills)
    return [_held(f, kernel, plan, buffers[f.stmt.src.buffer]) for f in fills]


def _held(fill: Fill, kernel: str, plan: Plan, source: Buffer) -> Alloc:
    made = Buffer(
        name=fill.held,
        dtype=source.dtype,
        shape=fill.buffer.shape,
        scope="fragment",
        layout=parse_layout(str(plan.value(f"{kernel}.{fill.held}.layout", ""))),
        span=fill.stmt.span,
    )
    return Alloc(buffer=made, span=fill.stmt.span)


def fetch(ring: Ring) -> Body:
    """The first step of one filling."""
    return tuple(_to_registers(f) for f in ring.fills)


def _to_registers(fill: Fill) -> Copy:
    held = dataclasses.replace(fill.stmt.dst, buffer=fill.held)
    return replace(fill.stmt, dst=held)


def deposit(ring: Ring) -> Body:
    """The second step of one filling."""
    return filling(ring, tuple(_to_slot(f) for f in ring.fills))


def _to_slot(fill: Fill) -> Copy:
    held = dataclasses.replace(fill.stmt.dst, buffer=fill.held)
    return Copy(src=held, dst=fill.stmt.dst, span=fill.stmt.span)


def filling(ring: Ring, copies: Sequence[Copy]) -> Body:
    """One filling of a channel by the threads themselves."""
    slots = {n: Slot(ring.name) for n in ring.buffers}
    return (
        Acquire(channel=ring.name, span=copies[0].span),
        *with_slots(tuple(copies), slots),
        Commit(channel=ring.name, span=copies[-1].span),
    )


def with_deposits(
    items: list[Item],
    carried: tuple[Carried, ...],
    rings: Mapping[str, Ring],
    depths: Mapping[str, int],
) -> tuple[list[Item], tuple[Carried, ...]]:
    """The items of a loop, which has the fetches already, with the deposits of `rings`."""
    before: dict[int, list[Item]] = {}
    for c in carried:
        if c.name in rings:
            at, stage, behind = _place(c, carried, items, depths[c.name])
            made = Item(stage=stage, body=deposit(rings[c.name]), behind=behind)
            before.setdefault(at, []).append(made)
    out: list[Item] = []
    moved: dict[int, int] = {}
    for i, item in enumerate(items):
        out += before.get(i, ())
        moved[i] = len(out)
        out.append(item)
    out += before.get(len(items), ())
    again = (dataclasses.replace(c, first=moved[c.first], last=moved[c.last]) for c in carried)
    return out, tuple(again)


def _place(
    c: Carried, carried: tuple[Carried, ...], items: Sequence[Item], depth: int
) -> tuple[int, int, str]:
    """The item before which a deposit stands, its stage, and the channel whose wait comes first.

    Behind another channel's wait it stands before what is fetched there: the registers of one tile
    are free then before the next takes some.
    """
    stage = items[c.first].stage
    lag = items[c.last].stage - stage
    if depth == 1 and lag == 0:
        others = [o for o in carried if o is not c]
        next_trip = [o for o in others if o.first < c.first]
        same_trip = [o for o in others if o.first > c.last]
        found = max(next_trip or same_trip, key=lambda o: o.first, default=None)
        if found is not None:
            at = found.first
            while at and items[at - 1].fills:
                at -= 1
            return at, stage if next_trip else stage - 1, found.name
    return max(c.first, c.last) + 1, stage - 1, ""
