"""Plan the overlap of iterations: slots of channels, a stage for each statement of a pipelined
loop, and one order.

No pattern and no kernel is known here: dependences of the body, costs from the description, and a
search.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tile_ir.diag import TileError
from tile_ir.ops import Alloc, For, Gemm, Let
from tile_passes.analysis.dependence import dependences, touches
from tile_passes.base import Pass
from tile_passes.plan.channels import Ring, plan_channels, rings
from tile_passes.plan.cost import product_cycles, shared_bytes, vector_cycles
from tile_passes.plan.keys import buffers_for, kernels, loop_key, tiles_of
from tile_passes.plan.model import Candidate, Decision
from tile_passes.plan.pins import impossible, pinned
from tile_passes.plan.plan_roles import GENERIC, STAGED
from tile_passes.plan.register_room import fixed_steps, held_tiles, registers_fit
from tile_passes.plan.schedule import (
    Node,
    Problem,
    Schedule,
    broken,
    candidates,
    least_stages,
    list_order,
)
from tile_passes.plan.settle_pins import plan_settle_pins
from tile_passes.plan.staging import staged_load
from tile_passes.plan.survey import free_scalars, survey, threads_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer, Function
    from tile_ir.opdef import Stmt
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path
    from tile_passes.plan.model import Plan, PlanValue
    from tile_passes.plan.survey import Survey


_EDGE = "matrix.async.back_edge"
"""What a compiler asks of asynchronous products that cross into the next iteration."""


@dataclass(frozen=True, slots=True)
class LoopBody:
    """The statements of a pipelined loop that are scheduled: no declarations, no fills, no scalars
    known anywhere.
    """

    positions: tuple[int, ...]
    names: tuple[str, ...]
    problem: Problem


def plan_pipeline(fn: Function, cx: PassContext, plan: Plan) -> Plan:
    """Decide `channel`, `depth`, `order`, `stage` and `pin` for every pipelined loop.

    A loop's own `stage` and `order` are followed where they break no dependence; else the planner's
    schedule stands, and the decision says why.

    Raises:
        TileError: E0702 for an impossible pin, E0703 when the slots asked for do not fit, E0704
            when a pinned order or stage breaks a dependence.
    """
    for kernel in kernels(fn):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        buffers = buffers_for(fn, kernel)
        found = survey(tiles.body, buffers, cx.target)
        groups = groups_of(kernel, cx.target)
        made = rings(found, kernel.name, plan)
        rates: dict[Path, float] = {}
        least: dict[str, int] = {}
        for path, loop in found.loops:
            body = loop_body(found, path, loop, made, kernel.name, plan, cx, buffers, groups)
            mine = [r for r in made if r.loop == path]
            taken = partial(_taken, mine, loop, body, buffers)
            tiles_held = held_tiles(loop, body.positions, buffers, threads_of(kernel.threads))
            ringed = {n for r in mine for n in r.buffers}
            fixed = fixed_steps(found, path, ringed, buffers, kernel.name, plan, cx)
            fits = partial(registers_fit, cx, plan, kernel, body.problem, tiles_held, fixed)
            plan, best = _schedule(plan, cx, kernel.name, found, path, loop, body, taken, fits)
            base = f"{kernel.name}.{loop_key(found.names[path])}"
            plan = plan_settle_pins(plan, cx, base, loop.body, body, best, buffers)
            rates[path] = best.cycles
            least.update({r.name: least_slots(r, loop, body, best) for r in mine})
        threads = threads_of(kernel.threads)
        load = staged_load(found, tiles.body, buffers, cx.target, threads)
        plan = plan_channels(plan, cx, kernel.name, found, buffers, rates, least, load)
    return plan


def groups_of(kernel: Kernel, spec: TargetSpec) -> int:
    """How many groups of warps compute, each with an order of its own."""
    return max(1, threads_of(kernel.threads) // (spec.warp_width * spec.group_warps))


def loop_body(
    found: Survey,
    path: Path,
    loop: For,
    made: tuple[Ring, ...],
    kernel: str,
    plan: Plan,
    cx: PassContext,
    buffers: Mapping[str, Buffer],
    groups: int = 1,
) -> LoopBody:
    """The scheduling problem of a pipelined loop."""
    inside = (*path, 0)
    filling = {f.path[-1] for r in made if r.body == inside for f in r.fills}
    private = {b for r in made if r.body == inside for b in r.buffers}
    free = free_scalars(loop.body, found.stable)
    positions = tuple(
        i
        for i, s in enumerate(loop.body)
        if i not in filling
        and not isinstance(s, Alloc)
        and not (isinstance(s, Let) and s.var in free)
    )
    place = {at: k for k, at in enumerate(positions)}
    deps = tuple(
        dict.fromkeys(
            (place[d.source], place[d.target], d.distance)
            for d in dependences(loop.body, private, found.homes)
            if d.source in place and d.target in place
        )
    )
    nodes = tuple(_node(loop.body[i], found, (*inside, i), kernel, plan, cx) for i in positions)
    conflicts = {
        k: frozenset(
            j
            for j in range(len(nodes))
            if collides(loop.body[at], nodes[j].asynchronous, loop.body[positions[j]], found.homes)
        )
        for k, at in enumerate(positions)
        if nodes[k].asynchronous
    }
    refills = frozenset(
        (k, j)
        for k, those in conflicts.items()
        for j in those
        if _refills(loop.body[positions[k]], loop.body[positions[j]], found.homes, buffers)
    )
    latency = cx.target.rates.settle_latency
    names = tuple(found.names.child(inside, i) for i in positions)
    settled = cx.target.hints.get(_EDGE) == "settled"
    problem = Problem(nodes, deps, conflicts, groups, latency, settled, refills)
    return LoopBody(positions, names, problem)


def least_slots(ring: Ring, loop: For, body: LoopBody, schedule: Schedule) -> int:
    """The slots of a ring that a schedule needs: one for each iteration by which its last reader
    lags behind its first, one that is new, and one that a product in flight still reads."""
    readers = [
        k
        for k, at in enumerate(body.positions)
        if any(n in touches(loop.body[at]) for n in ring.buffers)
    ]
    stages = [schedule.stage[k] for k in readers]
    lag = max(stages, default=0) - min(stages, default=0)
    late = any(body.problem.nodes[k].asynchronous for k in readers)
    return 1 + lag + (1 if lag and late else 0)


def _taken(
    mine: list[Ring], loop: For, body: LoopBody, buffers: Mapping[str, Buffer], schedule: Schedule
) -> int:
    """Bytes of the kernel's shared buffers with the slots that a schedule of the loop needs."""
    slots = {
        name: max(loop.num_stages, least_slots(ring, loop, body, schedule))
        for ring in mine
        if ring.engine != STAGED
        for name in ring.buffers
    }
    return shared_bytes(buffers, slots)


def is_asynchronous(plan: Plan, cx: PassContext, kernel: str, name: str) -> bool:
    """Whether the planned atom of the product `name` belongs to an asynchronous engine."""
    atom = cx.target.matrix.get(str(plan.value(f"{kernel}.{name}.atom", GENERIC)))
    return atom is not None and atom.engine == "async"


def collides(
    product: Stmt, other_asynchronous: bool, other: Stmt, homes: Mapping[str, str]
) -> bool:
    """Whether `product` in flight must settle before `other`: not for the accumulator of one
    engine's products.
    """
    assert isinstance(product, Gemm)
    if other is product and other_asynchronous:
        return False
    a, b, c = (homes.get(r.buffer, r.buffer) for r in (product.a, product.b, product.c))
    if other_asynchronous and isinstance(other, Gemm):
        operands = {homes.get(r.buffer, r.buffer) for r in (other.a, other.b)}
        return c in operands or homes.get(other.c.buffer, other.c.buffer) in (a, b)
    touched = touches(other, homes)
    sources = (touched.get(a), touched.get(b))
    return c in touched or any(t is not None and t.writes for t in sources)


def _refills(
    product: Stmt, other: Stmt, homes: Mapping[str, str], buffers: Mapping[str, Buffer]
) -> bool:
    """Whether `other`, which collides with `product`, does so as it fills its registers only."""
    assert isinstance(product, Gemm)
    a, b, c = (homes.get(r.buffer, r.buffer) for r in (product.a, product.b, product.c))
    touched = touches(other, homes)
    if isinstance(other, Gemm) or c in touched:
        return False
    written = [n for n in (a, b) if n in touched and touched[n].writes]
    return all(buffers[n].scope == "fragment" for n in written)


def _node(stmt: Stmt, found: Survey, path: Path, kernel: str, plan: Plan, cx: PassContext) -> Node:
    product = next((p for p in found.products if p.path == path), None)
    name = found.names[path]
    if product is None:
        return Node(name, vector_cycles(stmt, cx.target), False)
    atom = cx.target.matrix.get(str(plan.value(f"{kernel}.{name}.atom", GENERIC)))
    cycles = product_cycles(product.shape, atom, cx.target)
    return Node(name, cycles, atom is not None and atom.engine == "async")


# -- choosing


def _schedule(
    plan: Plan,
    cx: PassContext,
    kernel: str,
    found: Survey,
    path: Path,
    loop: For,
    body: LoopBody,
    taken: Callable[[Schedule], int],
    fits: Callable[[Schedule], bool],
) -> tuple[Plan, Schedule]:
    base = f"{kernel}.{loop_key(found.names[path])}"
    wished = _wishes(cx, base, loop, body)
    options = candidates(body.problem)
    room = cx.target.capacity("shared")
    able = [s for s in options if not room or taken(s) <= room] or list(options[:1])
    best, by = next((s for s in able if fits(s)), able[0]), "model"
    reason = f"{best.cycles:.0f} cycles an iteration"
    if best is not options[0]:
        what = "registers" if best is not able[0] else "slots"
        reason += f"; {what} for {options[0].cycles:.0f} do not fit"
    if wished is not None:
        asked = _as_wished(body, wished)
        fault = _fault(body.problem, body.names, asked)
        if not fault:
            best, by, reason = asked, "user", "pinned"
        elif wished.pinned:
            raise _breaks(base, loop, fault)
        else:  # who wrote the loop may count on copies of buffers that there are not here
            reason += f"; not as the loop asks, because {fault}"
    costs = tuple(
        Candidate(stage_value(body, s), s.cycles, f"cycles an iteration, slack {s.slack:.0f}")
        for s in options
    )
    plan = plan.decide(
        Decision(
            key=f"{base}.stage",
            value=stage_value(body, best),
            by=by,
            reason=reason,
            candidates=costs,
        )
    )
    names = tuple(body.names[i] for i in best.order)
    return plan.decide(Decision(key=f"{base}.order", value=names, by=by, reason=reason)), best


def stage_value(body: LoopBody, schedule: Schedule) -> PlanValue:
    """The stages that are not 0, as (name, stage) pairs."""
    return tuple((body.names[i], s) for i, s in enumerate(schedule.stage) if s)


@dataclass(frozen=True, slots=True)
class _Wishes:
    stage: dict[int, int]
    order: tuple[int, ...] | None
    every: bool
    """Whether the stages are given for all statements, not only for some."""
    pinned: bool
    """Whether a pin takes part, beside what the loop itself says."""


def _wishes(cx: PassContext, base: str, loop: For, body: LoopBody) -> _Wishes | None:
    """What pins and the loop's own `stage` and `order` ask for."""
    stage: dict[int, int] = {}
    order: tuple[int, ...] | None = None
    every = by_pin = False
    if loop.stage:
        least = min((loop.stage[at] for at in body.positions), default=0)
        stage = {k: loop.stage[at] - least for k, at in enumerate(body.positions)}
        every = True
    if loop.order:
        ranked = sorted(range(len(body.positions)), key=lambda k: loop.order[body.positions[k]])
        order = tuple(ranked)
    pin = pinned(cx, f"{base}.stage")
    if pin is not None:
        pairs = dict(_pairs(pin, f"{base}.stage", body))
        stage, every = {k: pairs.get(n, 0) for k, n in enumerate(body.names)}, True
        by_pin = True
    for k, name in enumerate(body.names):
        one = pinned(cx, f"{base}.stage[{name}]")
        if one is not None:
            by_pin = True
            stage[k] = int(one)  # type: ignore[arg-type]  # a number, or int() says so
    pin = pinned(cx, f"{base}.order")
    if pin is not None:
        if not isinstance(pin, tuple) or sorted(map(str, pin)) != sorted(body.names):
            raise impossible(f"{base}.order", pin, "", f"an order of {', '.join(body.names)}")
        by_pin = True
        order = tuple(body.names.index(str(n)) for n in pin)
    return _Wishes(stage, order, every, by_pin) if stage or order is not None else None


def _pairs(pin: PlanValue, key: str, body: LoopBody) -> list[tuple[str, int]]:
    try:
        pairs: tuple[Any, ...] = pin  # type: ignore[assignment]  # the handler catches any other kind
        found = [(str(name), int(stage)) for name, stage in pairs]
    except (TypeError, ValueError):
        raise impossible(key, pin, "", "pairs (statement, stage)") from None
    for name, _ in found:
        if name not in body.names:
            raise impossible(key, pin, f"there is no {name}", ", ".join(body.names))
    return found


def _as_wished(body: LoopBody, wished: _Wishes) -> Schedule:
    problem = body.problem
    stage = least_stages(problem, wished.stage)
    if wished.every or stage is None:
        stage = tuple(wished.stage.get(i, 0) for i in range(len(body.names)))
    order = wished.order if wished.order is not None else list_order(problem, stage)
    if order is None:
        order = tuple(range(len(stage)))
    return Schedule(stage, order, 0.0, 0.0)


def _fault(problem: Problem, names: tuple[str, ...], asked: Schedule) -> str:
    """The dependence that a schedule breaks, in words; empty when it breaks none."""
    bad = broken(problem, asked.stage, asked.order)
    if bad is None:
        return ""
    source, target, distance = bad
    when = "" if distance == 0 else " of the next iteration"
    return f"{names[target]}{when} must come after {names[source]}"


def _breaks(base: str, loop: For, fault: str) -> TileError:
    return TileError(
        "E0704",
        f"the schedule pinned for {base} breaks a dependence",
        loop.span,
        notes=(fault,),
        help="leave the order and stage to the planner, or change them",
    )


PASS = Pass(
    name="plan-pipeline",
    phase="plan",
    plan=plan_pipeline,
    requires=("roles planned",),
    ensures=("planned",),
    doc=__doc__,
)
