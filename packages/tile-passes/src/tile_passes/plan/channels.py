"""Plan which buffers share a channel, and how many slots each channel has.

Buffers that are filled in the same body by the same engine, and read from the same statement to the
same statement, have one lifetime and one channel. A pipelined loop asks for `num_stages` slots, or
leaves the depth to the model: the slots that cover the copy's latency at the loop's rate, as far as
they fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_passes.plan.cost import copy_bytes, shared_bytes
from tile_passes.plan.keys import loop_key
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide, pinned
from tile_passes.plan.plan_roles import THREADS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.ops import For
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan, PlanValue
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
    for fill in found.fills:
        engine = str(plan.value(f"{kernel}.{fill.name}.engine", THREADS))
        if engine != THREADS:
            groups.setdefault((fill.body, fill.first, fill.last, engine), []).append(fill)
    out = []
    for (_, first, _, engine), fills in groups.items():
        together = [f for f in fills if f.path[-1] < first]
        name = f"{together[0].buffer.name}_ring"
        out.append(Ring(name=name, engine=engine, fills=tuple(together), loop=fills[0].loop))
    return tuple(out)


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
) -> Plan:
    """Decide `depth` of each pipelined loop and `channel` of each ring.

    `rates` are the modelled cycles per iteration, by loop; `least` the slots without which a ring's
    readers in different stages would wait for each other.
    """
    made = rings(found, kernel, plan)
    slots: dict[str, int] = {}
    for path, loop in found.loops:
        mine = [r for r in made if r.loop == path]
        if not mine:
            continue
        fits = _fitting(cx, buffers, slots, mine)
        depth, reason = _depth(cx, loop, mine, fits, rates.get(path, 0.0))
        key = f"{kernel}.{loop_key(found.names[path])}.depth"
        options = tuple(range(1, max(fits, 1) + 1))
        by = "user" if loop.num_stages else "model"
        costs = tuple(Candidate(n, float(n * sum(r.bytes for r in mine)), "bytes") for n in options)
        if loop.num_stages and pinned(cx, key) is None and depth > fits:
            raise _too_large(depth, fits, mine, cx, loop)
        plan = decide(plan, cx, key, depth, reason=reason, allowed=options, candidates=costs, by=by)
        chosen = plan.value(key, depth)
        slots.update({b: int(chosen) for r in mine for b in r.buffers})  # type: ignore[arg-type]  # a whole number
    for ring in made:
        depth = max(slots.get(ring.buffers[0], 1), least.get(ring.name, 1))
        key = f"{kernel}.channel[{ring.name}]"
        value: PlanValue = (ring.engine, depth, *ring.buffers)
        plan = decide(plan, cx, key, value, reason="one lifetime", allowed=(value,))
    return plan


def _fitting(
    cx: PassContext, buffers: Mapping[str, Buffer], slots: Mapping[str, int], mine: list[Ring]
) -> int:
    """The most slots for the rings `mine` that fit beside everything else with the slots so far."""
    room = cx.target.capacity("shared")
    one = shared_bytes(buffers, slots)
    each = sum(r.bytes for r in mine)
    if not room:
        return MOST_SLOTS
    return max(0, min(MOST_SLOTS, 1 + (room - one) // each)) if each else MOST_SLOTS


def _depth(
    cx: PassContext, loop: For, mine: list[Ring], fits: int, cycles: float
) -> tuple[int, str]:
    if loop.num_stages:
        return loop.num_stages, "num_stages"
    latency = max(cx.target.copy[r.engine].latency for r in mine)
    wanted = 1 + ceil(latency / max(cycles, 1.0))
    depth = max(1, min(max(2, wanted), fits))
    return depth, f"covers {latency} cycles of latency at {cycles:.0f} cycles an iteration"


def _too_large(depth: int, fits: int, mine: list[Ring], cx: PassContext, loop: For) -> TileError:
    each = sum(r.bytes for r in mine)
    room = cx.target.capacity("shared")
    return TileError(
        "E0703",
        f"{depth} stages of {each} bytes do not fit into {room} bytes of shared memory",
        loop.span,
        notes=(f"each stage holds {', '.join(b for r in mine for b in r.buffers)}",),
        help=f"num_stages = {fits} fits" if fits else "use smaller tiles",
    )
