"""Plan which values are computed before the wait for a product of an earlier iteration, where the
target's compiler would start that wait as early as it can.

Such a compiler moves a wait above all arithmetic that does not need the product, and what the order
of the loop put beside the product in flight then comes after it. Other groups of warps keep the
engine busy meanwhile, so that the remedy gains little and is off unless it is pinned.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Const
from tile_passes.analysis.dependence import touches
from tile_passes.plan.model import Candidate
from tile_passes.plan.pins import decide
from tile_passes.plan.schedule import Window, timed, windows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan, PlanValue
    from tile_passes.plan.plan_pipeline import LoopBody
    from tile_passes.plan.schedule import Problem, Schedule

Results = tuple[tuple[int, tuple[str, ...]], ...]
"""Statements of a loop by number, and the fragments that each writes."""

HINT = "pin"
"""What a description says of a compiler that moves waits, and how it is kept from it."""

MOST_ADDED = 0.1
"""Part of a window's cycles that adding up registers may take."""


def plan_settle_pins(
    plan: Plan,
    cx: PassContext,
    base: str,
    stmts: Body,
    body: LoopBody,
    schedule: Schedule,
    buffers: Mapping[str, Buffer],
) -> Plan:
    """Decide `pin` of a loop: the statements after whose results the next wait has to come."""
    if HINT not in cx.target.hints or not schedule.span:
        return plan
    problem = body.problem
    beside = {w: _last(w, stmts, body, buffers) for w in windows(problem, schedule.order)}
    lanes = max(cx.target.rates.vector_flops / 2, 1.0)
    found = [w for w, last in beside.items() if _worth(problem, w, last, buffers, lanes)]
    value: PlanValue = tuple(body.names[k] for w in found for k, _ in beside[w])
    if not found:
        return plan
    early = timed(_hoisted(problem, found), schedule.stage, schedule.order)
    kept = timed(problem, schedule.stage, schedule.order)
    options = (
        Candidate((), early.cycles, "cycles an iteration, waits as early as they can be"),
        Candidate(value, kept.cycles, "cycles an iteration, waits where the order has them"),
    )
    reason = "off unless pinned: long loops gained 2%, short ones lost more"
    allowed = ((), value)
    return decide(plan, cx, f"{base}.pin", (), reason=reason, allowed=allowed, candidates=options)


def pinned_registers(stmt: Stmt, buffers: Mapping[str, Buffer]) -> tuple[str, ...]:
    """The fragments of 32-bit floats that a statement writes: what can be pinned of it."""
    written = (name for name, t in touches(stmt).items() if t.writes)
    return tuple(n for n in written if n in buffers and _pinnable(buffers[n]))


def _pinnable(buffer: Buffer) -> bool:
    return buffer.scope == "fragment" and buffer.dtype.name == "f32"


def _worth(
    problem: Problem,
    window: Window,
    last: Results,
    buffers: Mapping[str, Buffer],
    lanes: float,
) -> bool:
    """Whether what stands beside a product in flight is worth a wait of its own, and adding up the
    registers of its results costs little of that."""
    work = sum(problem.nodes[k].cycles for k in window.beside)
    shapes = [buffers[name].shape for _, names in last for name in names]
    added = sum(prod(int(n.value) for n in s if isinstance(n, Const)) for s in shapes)
    return bool(last) and work > problem.settle_latency and added / lanes <= work * MOST_ADDED


def _last(window: Window, stmts: Body, body: LoopBody, buffers: Mapping[str, Buffer]) -> Results:
    """The statements of a window with results that no later one of it takes up, and these."""
    mine = [stmts[body.positions[k]] for k in window.beside]
    out = []
    for i, stmt in enumerate(mine):
        held = pinned_registers(stmt, buffers)
        later = {name for other in mine[i + 1 :] for name in touches(other)}
        if held and not later.intersection(held):
            out.append((window.beside[i], held))
    return tuple(out)


def _hoisted(problem: Problem, found: list[Window]) -> Problem:
    """The problem for a compiler that waits at the start of each window."""
    conflicts = dict(problem.conflicts)
    for window in found:
        conflicts[window.product] = conflicts[window.product] | {window.beside[0]}
    return replace(problem, conflicts=conflicts)
