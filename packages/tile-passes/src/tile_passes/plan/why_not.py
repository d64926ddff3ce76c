"""What the Plan does not say of copies: why an engine does not carry one, and how many bytes a
thread moves at once. For people who read a plan; nothing is decided here.

The planner records the engines that could take a copy, and nothing of a copy that none could. Here
every copy of a program gets a decision about its engine with each engine of the target that was
refused and the reason, and every copy that threads carry out one about its width, taken from the
lowered program, with what limits it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tile_ir.core import Stage
from tile_ir.expr import Const, loads
from tile_ir.opdef import bodies
from tile_ir.ops import AsyncCopy, Atomic, AtomicTile, Copy, Store
from tile_ir.rewrite import declared, stmt_exprs, walk
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.manual import is_manual
from tile_passes.base import State
from tile_passes.decisions import Candidate, Decision, Plan
from tile_passes.manager import run_pipeline
from tile_passes.pipeline import Pipeline
from tile_passes.plan.keys import Names, kernels, tiles_of
from tile_passes.plan.plan_roles import ROLES_ONE, THREADS
from tile_passes.plan.refusals import load_refused, store_refused
from tile_passes.plan.survey import obstacle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer, Function, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.target import TargetSpec
    from tile_passes.base import PassContext
    from tile_passes.plan.keys import Path

__all__ = ["limit", "reasons_of", "with_reasons"]


def with_reasons(plan: Plan, before: Function, after: Function, spec: TargetSpec) -> Plan:
    """The plan with what it leaves unsaid of copies.

    `before` is the program as the planner saw it, `after` the program of one thread that came of
    it (stage `simt`; of any other, nothing is said of widths).
    """
    buffers = declared(before)
    for kernel in kernels(before):
        tiles = tiles_of(kernel)
        if tiles is None:
            continue
        names, manual = Names.of(tiles.body), is_manual(tiles.body)
        for path, stmt in _copies(tiles.body, ()):
            key = f"{kernel.name}.{names[path]}"
            if not manual:
                plan = _engine(plan, key, stmt, buffers, spec, tiles.body)
            plan = _width(plan, key, stmt, buffers, after, spec)
    return plan


def reasons_of(plan: Plan, fn: Function, pipeline: Pipeline, cx: PassContext) -> Plan:
    """The same for a program at stage `tile` and the pipeline that made the plan of it, which runs
    once more."""
    first = next((i for i, s in enumerate(pipeline.steps) if s.run.name == _PLANS), None)
    if first is None:
        return plan
    state = State(function=fn)
    before = run_pipeline(Pipeline(pipeline.steps[:first]), state, cx).state.function
    after = run_pipeline(pipeline, state, cx).state.function
    return with_reasons(plan, before, after, cx.target)


_PLANS = "plan-roles"
"""The pass that chooses engines; a pipeline without it has none."""


def _copies(body: Body, at: Path) -> Iterator[tuple[Path, Copy | AtomicTile]]:
    for i, stmt in enumerate(body):
        if isinstance(stmt, (Copy, AtomicTile)):
            yield (*at, i), stmt
        for n, inner in enumerate(bodies(stmt)):
            yield from _copies(inner, (*at, i, n))


def _engine(
    plan: Plan,
    key: str,
    stmt: Copy | AtomicTile,
    buffers: Mapping[str, Buffer],
    spec: TargetSpec,
    body: Body,
) -> Plan:
    source, target = buffers[stmt.src.buffer], buffers[stmt.dst.buffer]
    if "global" not in (source.scope, target.scope):
        return plan
    refused = tuple(_refused(stmt, source, target, spec))
    found = plan.find(f"{key}.engine")
    if found is not None:
        named = {str(c.value) for c in found.candidates} | {str(found.value)}
        alone = _elected_apart(plan, key, target, spec)
        first = {str(c.value): c for c in (*alone, *refused)}
        more = tuple(c for name, c in first.items() if name not in named)
        return plan.decide(replace(found, candidates=(*found.candidates, *more))) if more else plan
    why = obstacle(stmt, body, buffers, spec)
    reason = why or ("no engine takes it" if refused else "registers are filled by threads alone")
    made = Decision(key=f"{key}.engine", value=THREADS, reason=reason, candidates=refused)
    return plan.decide(made)


def _elected_apart(plan: Plan, key: str, target: Buffer, spec: TargetSpec) -> tuple[Candidate, ...]:
    """The engines that one thread would have to issue, where no role of its own does."""
    roles = plan.find(f"{key.partition('.')[0]}.roles")
    if roles is None or roles.value != ROLES_ONE or target.scope != "shared":
        return ()
    why = f"one thread would issue it: {roles.reason}"
    return tuple(Candidate(e.name, None, why) for e in spec.engines("global", "shared") if e.elect)


def _refused(
    stmt: Copy | AtomicTile, source: Buffer, target: Buffer, spec: TargetSpec
) -> Iterator[Candidate]:
    """The engines of the target that cannot carry a copy, each with the reason."""
    if source.scope == "global":
        if target.scope == "shared" and isinstance(stmt, Copy):
            for engine in spec.engines("global", "shared"):
                why = load_refused(engine, stmt, source, target)
                if engine.lane_linear:
                    why = why or "what it brings lies in the order of its threads"
                if why:
                    yield Candidate(engine.name, None, why)
        return
    for engine in spec.engines("shared", "global"):
        kind = stmt.kind if isinstance(stmt, AtomicTile) else ""
        why = store_refused(engine, stmt, source, target)
        if kind and kind not in engine.reduce:
            why = f"it has no atomic {kind}"
        if why:
            yield Candidate(engine.name, None, why)


def _width(
    plan: Plan,
    key: str,
    stmt: Copy | AtomicTile,
    buffers: Mapping[str, Buffer],
    after: Function,
    spec: TargetSpec,
) -> Plan:
    """How wide threads access the global side of a copy."""
    side = stmt.src if buffers[stmt.src.buffer].scope == "global" else stmt.dst
    buffer = buffers[side.buffer]
    if buffer.scope != "global" or after.stage is not Stage.SIMT or stmt.span is None:
        return plan
    lanes = max(_accesses(after, buffer.name, stmt), default=0)
    if not lanes or plan.find(f"{key}.width") is not None:
        return plan
    size = max(1, lanes * buffer.dtype.storage_bits // 8)
    other = stmt.dst if side is stmt.src else stmt.src
    why = limit(stmt, side, buffer, lanes, spec) or f"as a thread has them of {other.buffer}"
    return plan.decide(Decision(key=f"{key}.width", value=size, reason=f"bytes at once: {why}"))


def limit(
    stmt: Copy | AtomicTile, side: Region, buffer: Buffer, lanes: int, spec: TargetSpec
) -> str:
    """What of the global side of a copy forbids twice as many lanes at once; empty where it is the
    other side."""
    wider, bits = 2 * lanes, buffer.dtype.storage_bits
    if bits * wider > 8 * max(spec.access_bytes, default=1):
        return "the widest access that there is"
    if bits & (bits - 1):
        return f"elements of {bits} bits share no access evenly"
    if isinstance(stmt, AtomicTile):
        return "atomics are of single elements"
    if stmt.width and stmt.width < wider:
        return f"the program allows {stmt.width} elements"
    strides = buffer.strides or ()
    if strides and not (isinstance(strides[-1], Const) and strides[-1].value == 1):
        return f"elements of {buffer.name} along its last axis are not side by side"
    extent = side.ranges[-1].extent
    if isinstance(extent, Const) and int(extent.value) % wider:
        return f"{extent} elements along the last axis of {buffer.name} are no multiple of {wider}"
    for what, e in _places(stmt, side, buffer):
        if _divides(e, lanes) and not _divides(e, wider):
            return f"{what} {e} elements, not known to be a multiple of {wider}"
    return ""


def _places(stmt: Copy | AtomicTile, side: Region, buffer: Buffer) -> Iterator[tuple[str, Expr]]:
    """The numbers of elements that say where runs along the last axis begin and end."""
    yield "it begins at", side.ranges[-1].start
    length = buffer.shape[-1]
    if buffer.strides is not None:
        yield from ((f"rows of {buffer.name} are apart by", s) for s in buffer.strides[:-1])
    elif buffer.rank > 1:
        yield f"rows of {buffer.name} have", length
    if stmt.clip:
        yield f"{buffer.name} ends at", length


_NOTHING = Facts.of_dims(())


def _divides(e: Expr, count: int) -> bool:
    """Whether a number is a multiple of `count` whatever its variables are."""
    return _NOTHING.linear(e).divisor() % count == 0


def _accesses(after: Function, name: str, stmt: Stmt) -> Iterator[int]:
    """The lanes of each access to a buffer that came of a statement."""
    for s in walk(after.body):
        if s.span != stmt.span:
            continue
        if isinstance(s, (Store, Atomic)) and s.buffer == name:
            yield s.value.dtype.lanes
        if isinstance(s, AsyncCopy) and s.src.buffer == name:
            extent = s.src.ranges[-1].extent
            yield int(extent.value) if isinstance(extent, Const) else 1
        for e in stmt_exprs(s):
            yield from (x.dtype.lanes for x in loads(e) if x.buffer == name)
