"""Let a worker walk along a strip of tiles, and keep what the strip's tiles have in common.

A copy whose source does not move along the strip brings the same block for every tile of it: it is
made for the first tile only and stays *resident*, one slot for each trip of the loop around it. For
a product this is what packing the panels of B once means; for attention, keeping the keys and
values of a head for all its queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_cpu.plan.plan_trips import merged
from tile_cpu.sizes import element_count
from tile_ir.expr import Const, Expr, Var, free_vars, loads
from tile_ir.opdef import Access, Body
from tile_ir.ops import Alloc, Atom, Break, Continue, Copy, For, Gemm, Kernel, Let, Tiles
from tile_ir.rewrite import declared, effects, stmt_exprs, walk
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import coefficient
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["NO_STRIP", "PASS", "Resident", "residents", "strip_key"]

NO_STRIP = "none"
TRIPS = 8
"""Trips of a loop whose number is not known."""
PACKING = 2
"""What packing a panel costs, in plain copies of as many bytes."""
L3_SHARE = 4
"""Of the last level's bytes, each worker's resident blocks may take one part in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """A copy that may be kept along a strip.

    `loop` is the loop whose trips need a slot each (None: one block serves the whole tile),
    `source` the extent of the source along which that loop moves, `step` how far per trip.
    """

    copy: Copy
    buffer: Buffer
    loop: For | None
    source: Expr | None
    step: int

    @property
    def slot_bytes(self) -> int:
        """Bytes of one block."""
        return element_count(self.buffer) * self.buffer.dtype.storage_bits // 8


def strip_key(kernel: Kernel) -> str:
    """The Plan's key of the choice: `KERNEL.tiles.strip`."""
    return f"{kernel.name}.tiles.strip"


def resident_key(kernel: Kernel, buffer: str) -> str:
    """The Plan's key of how many blocks of a buffer stay: `KERNEL.BUFFER.resident`."""
    return f"{kernel.name}.{buffer}.resident"


def _tiles(kernel: Kernel) -> Tiles | None:
    return next((s for s in kernel.body if isinstance(s, Tiles)), None)


def residents(kernel: Kernel, buffers: dict[str, Buffer], along: Var) -> list[Resident]:
    """The copies that bring the same blocks for every tile along `along`."""
    tiles = _tiles(kernel)
    if tiles is None:
        return []
    written = _written(kernel.body)
    moving = _moving(tiles.body, along)
    found = []
    for copy, loop in _copies(tiles.body):
        made = _resident(copy, loop, buffers)
        if made is None or copy.src.buffer in written or written.count(copy.dst.buffer) != 1:
            continue
        if any(free_vars(e) & moving or loads(e) for e in stmt_exprs(copy)):
            continue
        if _addressable(tiles.body, copy.dst.buffer):
            found.append(made)
    return found


def _written(body: Body) -> list[str]:
    return [
        e.buffer
        for s in walk(body)
        for e in effects(s)
        if e.access & (Access.WRITE | Access.UPDATE)
    ]


def _moving(body: Body, along: Var) -> set[Var]:
    """The strip's variable and everything bound to a value that depends on it or on memory."""
    moving = {along}
    for s in walk(body):
        if isinstance(s, Let) and (free_vars(s.value) & moving or loads(s.value)):
            moving.add(s.var)
    return moving


def _copies(body: Body, loop: For | None = None) -> Iterator[tuple[Copy, For | None]]:
    """Copies that every trip makes: in the tile's body or in one plain loop in it."""
    for s in body:
        if isinstance(s, Copy):
            yield s, loop
        elif isinstance(s, For) and loop is None and not _leaves(s.body):
            yield from _copies(s.body, s)


def _leaves(body: Body) -> bool:
    return any(isinstance(s, (Break, Continue)) for s in walk(body))


def _resident(copy: Copy, loop: For | None, buffers: dict[str, Buffer]) -> Resident | None:
    src, dst = buffers[copy.src.buffer], buffers[copy.dst.buffer]
    if src.scope != "global" or dst.scope not in ("shared", "fragment"):
        return None
    if loop is None:
        return Resident(copy=copy, buffer=dst, loop=None, source=None, step=0)
    counts = isinstance(loop.start, Const) and loop.start.value == 0
    if not (counts and isinstance(loop.step, Const) and loop.step.value == 1):
        return None
    moves = [coefficient(r.start, loop.var) for r in copy.src.ranges]
    axes = [axis for axis, c in enumerate(moves) if c]
    if None in moves or len(axes) != 1:
        return None
    step = moves[axes[0]]
    if step is None or step < 0:
        return None
    return Resident(copy=copy, buffer=dst, loop=loop, source=src.shape[axes[0]], step=step)


def _addressable(body: Body, name: str) -> bool:
    """Whether every access to a buffer can be given a slot in front of its coordinates."""
    for s in walk(body):
        if isinstance(s, (Alloc, Copy, Atom, Gemm)):
            continue
        if any(e.buffer == name and not hasattr(e.region, "indices") for e in effects(s)):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Choice:
    """Weighs the tile axes of one kernel; a gain is bytes that one tile need not copy."""

    kernel: Kernel
    buffers: dict[str, Buffer]

    def candidates(self) -> list[Candidate]:
        tiles = _tiles(self.kernel)
        axes = () if tiles is None else zip(tiles.vars, tiles.extents, strict=True)
        found = [self._along(v) for v, n in axes if not (isinstance(n, Const) and n.value <= 1)]
        none = Candidate(NO_STRIP, 0.0, "every tile on its own")
        return sorted([none, *found], key=lambda c: c.cost or 0.0)

    def _along(self, v: Var) -> Candidate:
        kept = residents(self.kernel, self.buffers, v)
        packed = {s.b.buffer for s in walk(self.kernel.body) if isinstance(s, (Atom, Gemm))}
        gain = sum(
            r.slot_bytes
            * (1 if r.loop is None else TRIPS)
            * (PACKING if r.buffer.name in packed else 1)
            for r in kept
        )
        names = ", ".join(dict.fromkeys(r.buffer.name for r in kept)) or "nothing"
        return Candidate(v.name, -float(gain), f"keeps {names} (bytes not copied again per tile)")


def plan_strips(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `KERNEL.tiles.strip` and `KERNEL.BUFFER.resident` for every kernel."""
    buffers = declared(fn)
    for kernel in walk(fn.body):
        if not isinstance(kernel, Kernel):
            continue
        candidates = _Choice(kernel, buffers).candidates()
        plan = decide(
            plan,
            cx,
            strip_key(kernel),
            candidates[0].value,
            reason=candidates[0].reason,
            allowed=[c.value for c in candidates],
            candidates=tuple(candidates),
        )
        value = plan.value(strip_key(kernel), NO_STRIP)
        tiles = _tiles(kernel)
        along = next((v for v in tiles.vars if v.name == value), None) if tiles else None
        if along is not None:
            plan = _decide_slots(kernel, residents(kernel, buffers, along), cx, plan)
    return plan


def _decide_slots(kernel: Kernel, kept: list[Resident], cx: PassContext, plan: Plan) -> Plan:
    budget = cx.target.capacity("l3") // L3_SHARE
    looped = [r for r in kept if r.loop is not None]
    for r in kept:
        share = budget // max(1, len(looped))
        size = r.slot_bytes * merged(kernel, r.loop, plan)
        slots = 1 if r.loop is None else max(1, share // max(1, size))
        reason = f"blocks of {size} bytes in {share} bytes of the last-level cache"
        plan = decide(plan, cx, resident_key(kernel, r.buffer.name), slots, reason=reason)
    return plan


PASS = Pass(name="plan-strips", phase="plan", plan=plan_strips, ensures=("planned",), doc=__doc__)
