"""A program that shows a mistake, made short while it goes on showing it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tile_ir.expr import loads
from tile_ir.ops import Parallel, Store
from tile_ir.rewrite import stmt_exprs, walk
from tile_ir.verify import verify
from tile_passes.fuzz import edits
from tile_passes.fuzz.checks import Finding, step_change
from tile_passes.fuzz.pipelines import OPTIONAL
from tile_passes.pipeline import Pipeline

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.fuzz.cases import Case

__all__ = ["iterations_meet", "reduced", "shows_at_last"]

Shows = Callable[["Case"], bool]
"""Whether a case still shows the mistake."""

FAMILIES = (
    *(edits.fewer_statements, edits.plainer, edits.constants),
    *(edits.fewer_buffers, edits.expressions),
)
"""Edits in the order in which they are tried: those that take most away first."""

_COARSE = 0.25
"""Absolute error of a result that no rounding explains: edits may remove what keeps numbers small,
and then the tolerance of the program that was drawn says nothing."""


@dataclass(frozen=True, slots=True)
class _Hunt:
    """What is looked for, and until when on the clock of this process."""

    shows: Shows
    end: float

    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.end

    def holds(self, case: Case) -> bool:
        """Whether the case is valid, means something, and shows the mistake."""
        if verify(case.function) or iterations_meet(case.function):
            return False
        try:
            return self.shows(case)
        except Exception:  # the program means nothing, or shows another mistake than the one
            return False


def iterations_meet(fn: Function) -> bool:
    """Whether an iteration of a parallel loop may read what another one writes: such a program has
    no meaning, though the oracle, which reads everything first, gives it one."""
    for loop in walk(fn.body):
        if not isinstance(loop, Parallel):
            continue
        body = tuple(walk(loop.body))
        written = {(s.buffer, s.indices) for s in body if isinstance(s, Store)}
        names = {name for name, _ in written}
        read = (load for s in body for e in stmt_exprs(s) for load in loads(e))
        if any(x.buffer in names and (x.buffer, x.indices) not in written for x in read):
            return True
    return False


def _round(case: Case, hunt: _Hunt) -> Case:
    """The case after every family of edits once."""
    for family in FAMILIES:
        case = _taken(case, family, hunt)
    case = _taken(case, partial(edits.with_dims, dims=case.dims), hunt)
    return _smaller_dims(case, hunt)


def shows_at_last(finding: Finding) -> Shows:
    """Whether the last pass of a case does the same kind of wrong as the pass of the finding."""

    def shows(case: Case) -> bool:
        found = step_change(case, len(case.pipeline.steps) - 1)
        return found is not None and (found.kind, found.where) == (finding.kind, finding.where)

    return shows


def reduced(case: Case, shows: Shows, seconds: float = 60.0) -> Case:
    """The shortest case that edits lead to and that `shows` the mistake, within the time.

    Every edit is kept only if the program verifies and the oracle runs it without complaint, so
    what is left is valid. Elements of results that nothing writes, or that are computed from such,
    count for nothing.
    """
    hunt = _Hunt(shows, time.monotonic() + seconds)
    coarse = replace(case, tolerance=_coarse(case))
    case = coarse if hunt.holds(coarse) else case
    while not hunt.is_over():
        shorter = _round(case, hunt)
        if shorter is case:
            break
        case = shorter
    return _fewer_passes(case, hunt)


def _coarse(case: Case) -> dict[str, float]:
    floats = {p.name: p.buffer.dtype.is_float for p in case.function.params if p.buffer is not None}
    return {n: max(t, _COARSE) if floats[n] else t for n, t in case.tolerance.items()}


def _taken(case: Case, family: Callable[[Function], Iterator[Function]], hunt: _Hunt) -> Case:
    """The case after every edit of a family that keeps the mistake."""
    skip = 0
    while not hunt.is_over():
        for number, fn in enumerate(family(case.function)):
            if hunt.is_over():
                return case
            if number < skip:
                continue
            made = _with(case, edits.tidied(fn))
            if made is not None and made.function != case.function and hunt.holds(made):
                # What failed before would mostly fail again: go on where this one succeeded.
                case, skip = made, number
                break
        else:
            return case
    return case


def _with(case: Case, fn: Function) -> Case | None:
    """The case of another function; None for one that has nothing left."""
    if not fn.body:
        return None
    left = {p.name for p in fn.params} | {d.name for d in fn.dims}
    return replace(
        case,
        function=fn,
        tolerance={n: t for n, t in case.tolerance.items() if n in left},
        dims={n: v for n, v in case.dims.items() if n in left},
    )


def _smaller_dims(case: Case, hunt: _Hunt) -> Case:
    for name, value in case.dims.items():
        for new in dict.fromkeys((1, 2, 3, value // 2, value - 1)):
            made = replace(case, dims={**case.dims, name: new})
            if 0 < new < value and not hunt.is_over() and hunt.holds(made):
                case = made
                break
    return case


def _fewer_passes(case: Case, hunt: _Hunt) -> Case:
    """Without those passes before the last one that may be missing and do not matter here: they
    only make programs better, or decide what has a default.
    """
    at = len(case.pipeline.steps) - 2
    while at >= 0 and not hunt.is_over():
        steps = case.pipeline.steps
        made = replace(case, pipeline=Pipeline((*steps[:at], *steps[at + 1 :])))
        may_lack = steps[at].run.name in OPTIONAL or steps[at].run.phase == "plan"
        if may_lack and hunt.holds(made):
            case = made
        at -= 1
    return case
