"""Plan which buffers share a channel, and how many slots each channel has.

Buffers that are filled in the same body by the same engine, and read from the same statement to the
same statement, have one lifetime and one channel. A pipelined loop asks for `num_stages` slots, or
leaves the depth to the model: the slots that cover the copy's latency at the loop's rate, as far as
they fit.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_passes.plan.cost import copy_bytes, shared_bytes
from tile_passes.plan.keys import loop_key
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide, pinned
from tile_passes.plan.plan_roles import STAGED, THREADS
from tile_passes.plan.staging import staged_depths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.ops import For
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan, PlanValue
    from tile_passes.plan.staging import StagedLoad
    from tile_passes.plan.survey import Fill, Survey

MOST_SLOTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A channel to be: its fills, and the body that they and all readers stand in."""

    name: str
    engine: str
    fills: tuple[Fill, ...]
    loop: Path | None

    @property
    def body(self) -> Path:
        """The body of the fills."""
        return self.fills[0].body

    @property
    def buffers(self) -> tuple[str, ...]:
        """The buffers that it carries."""
        return tuple(f.buffer.name for f in self.fills)

    @property
    def bytes(self) -> int:
        """What one filling brings."""
        return sum(copy_bytes(f.buffer) for f in self.fills)


def rings(found: Survey, kernel: str, plan: Plan) -> tuple[Ring, ...]:
    """The channels of a kernel, in the order of their first fills."""
    groups: dict[tuple[Path, int, int, str], list[Fill]] = {}
    engines = {f.name: str(plan.value(f"{kernel}.{f.name}.engine", THREADS)) for f in found.fills}
    for fill in _joined(found.fills, engines):
        engine = engines[fill.name]
        if engine != THREADS:
            groups.setdefault((fill.body, fill.first, fill.last, engine), []).append(fill)
    out = []
    for (_, first, _, engine), fills in groups.items():
        together = [f for f in fills if f.path[-1] < first]
        name = f"{together[0].buffer.name}_ring"
        out.append(Ring(name=name, engine=engine, fills=tuple(together), loop=fills[0].loop))
    return tuple(out)


def _joined(fills: tuple[Fill, ...], engines: Mapping[str, str]) -> tuple[Fill, ...]:
    """The fills, those that threads stage in one loop with one lifetime where theirs overlap: each
    would cost a barrier of its own else.
    """
    staged = [f for f in fills if engines[f.name] == STAGED]
    out: list[Fill] = []
    for fill in fills:
        if engines[fill.name] != STAGED:
            out.append(fill)
            continue
        near = [f for f in staged if f.body == fill.body]
        first, last = _lifetime(fill, near)
        late = any(f.path[-1] >= first for f in near if first <= f.first <= last)
        out.append(fill if late else dataclasses.replace(fill, first=first, last=last))
    return tuple(out)


def _lifetime(fill: Fill, near: list[Fill]) -> tuple[int, int]:
    """From the first reader to the last of all fills that are read while this one is."""
    span = (fill.first, fill.last)
    while True:
        met = [f for f in near if f.first <= span[1] and span[0] <= f.last]
        wider = (min(f.first for f in met), max(f.last for f in met))
        if wider == span:
            return span
        span = wider


def ring_slots(found: Survey, kernel: str, plan: Plan) -> dict[str, int]:
    """The planned slots of every buffer that a ring carries."""
    out: dict[str, int] = {}
    for ring in rings(found, kernel, plan):
        channel = plan.value(f"{kernel}.channel[{ring.name}]", ("", 1))
        assert isinstance(channel, tuple)
        out.update(dict.fromkeys(ring.buffers, int(channel[1])))  # type: ignore[arg-type]  # its second entry is its depth
    return out


def plan_channels(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    found: Survey,
    buffers: Mapping[str, Buffer],
    rates: Mapping[Path, float],
    least: Mapping[str, int],
    load: StagedLoad,
) -> Plan:
    """Decide `depth` of each pipelined loop and `channel` of each ring.

    `rates` are the modelled cycles per iteration, by loop; `least` the slots without which a ring's
    readers in different stages would wait for each other; `load` what a block takes of a core.
    """
    made = rings(found, kernel, plan)
    slots: dict[str, int] = {}
    for path, loop in found.loops:
        mine = [r for r in made if r.loop == path]
        if not mine:
            continue
        if mine[0].engine == STAGED:
            part = dataclasses.replace(load, cycles=rates.get(path, 0.0))
            key = f"{kernel}.{loop_key(found.names[path])}.depth"
            plan, own = _staged(plan, cx, key, loop, mine, part, buffers, slots)
            slots.update(own)
            continue
        fits = _fitting(cx, buffers, slots, mine, max(MOST_SLOTS, loop.num_stages))
        depth, reason = _depth(cx, loop, mine, fits, rates.get(path, 0.0))
        key = f"{kernel}.{loop_key(found.names[path])}.depth"
        options = tuple(range(1, max(fits, 1) + 1))
        by = "user" if loop.num_stages else "model"
        costs = tuple(Candidate(n, float(n * sum(r.bytes for r in mine)), "bytes") for n in options)
        if loop.num_stages and pinned(cx, key) is None and depth > fits:
            raise _too_large(depth, fits, mine, cx, loop, shared_bytes(buffers, slots))
        plan = decide(plan, cx, key, depth, reason=reason, allowed=options, candidates=costs, by=by)
        chosen = plan.value(key, depth)
        slots.update({b: int(chosen) for r in mine for b in r.buffers})  # type: ignore[arg-type]  # a whole number
    for ring in made:
        depth = max(slots.get(ring.buffers[0], 1), least.get(ring.name, 1))
        key = f"{kernel}.channel[{ring.name}]"
        value: PlanValue = (ring.engine, depth, *ring.buffers)
        plan = decide(plan, cx, key, value, reason="one lifetime", allowed=(value,))
    return plan


def _staged(
    plan: Plan,
    cx: PassContext,
    key: str,
    loop: For,
    mine: list[Ring],
    load: StagedLoad,
    buffers: Mapping[str, Buffer],
    slots: Mapping[str, int],
) -> tuple[Plan, dict[str, int]]:
    """The slots of a loop whose copies go through registers: as many as the loop asks for, at most
    two, and one where it is free in time anyway or where blocks of a core then hide its barriers.

    Raises:
        TileError: E0703 where not even one fits.
    """
    bound = [r for r in mine if not _freed_between(r, mine)]
    load = dataclasses.replace(load, carried=tuple(n for r in bound or mine for n in r.buffers))
    options = staged_depths(load, buffers, slots, cx.target)
    if not options:
        raise _too_large(1, 0, mine, cx, loop, shared_bytes(buffers, slots))
    able = [c for c in options if not loop.num_stages or c.depth <= loop.num_stages]
    best = (able or options)[0]
    depth, reason = best.depth, f"{best.cycles:.0f} {best.reason}"
    if not bound:
        depth, reason = 1, "a barrier that comes anyway frees the slot of each in time"
    if loop.num_stages > depth:
        reason += f"; num_stages = {loop.num_stages} would hide no more: registers hold the next"
    by = "user" if loop.num_stages == depth else "model"
    allowed = tuple(sorted(c.depth for c in options))
    costs = tuple(Candidate(c.depth, c.cycles, c.reason) for c in options)
    plan = decide(plan, cx, key, depth, reason=reason, allowed=allowed, candidates=costs, by=by)
    wide = mine if pinned(cx, key) is not None else bound
    chosen = plan.value(key, depth)
    return plan, {n: int(chosen) for r in wide for n in r.buffers}  # type: ignore[arg-type]  # a whole number


def _freed_between(ring: Ring, mine: list[Ring]) -> bool:
    """Whether threads meet for another ring of the body after they have read a slot of this one
    and before they read the next: what came for it can be put there then.
    """
    first, last = ring.fills[0].first, ring.fills[0].last
    return any(r.fills[0].first < first or last < r.fills[0].first for r in mine if r is not ring)


def _fitting(
    cx: PassContext,
    buffers: Mapping[str, Buffer],
    slots: Mapping[str, int],
    mine: list[Ring],
    most: int,
) -> int:
    """The slots for the rings `mine` that fit beside everything else with the slots so far, at most
    `most`."""
    room = cx.target.capacity("shared")
    one = shared_bytes(buffers, slots)
    each = sum(r.bytes for r in mine)
    if not room:
        return most
    return max(0, min(most, 1 + (room - one) // each)) if each else most


def _depth(
    cx: PassContext, loop: For, mine: list[Ring], fits: int, cycles: float
) -> tuple[int, str]:
    if loop.num_stages:
        return loop.num_stages, "num_stages"
    latency = max(cx.target.copy[r.engine].latency for r in mine)
    wanted = 1 + ceil(latency / max(cycles, 1.0))
    depth = max(1, min(max(2, wanted), fits))
    return depth, f"covers {latency} cycles of latency at {cycles:.0f} cycles an iteration"


def _too_large(
    depth: int, fits: int, mine: list[Ring], cx: PassContext, loop: For, taken: int
) -> TileError:
    """`taken` are the bytes of all shared buffers with one slot for each of the loop's."""
    each = sum(r.bytes for r in mine)
    room = cx.target.capacity("shared")
    return TileError(
        "E0703",
        f"{depth} stages of {each} bytes do not fit into {room} bytes of shared memory",
        loop.span,
        notes=(
            f"each stage holds {', '.join(b for r in mine for b in r.buffers)}",
            f"the kernel's other shared buffers take {taken - each} bytes",
        ),
        help=f"num_stages = {fits} fits" if fits else "use smaller tiles",
    )
