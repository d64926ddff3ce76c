"""Pass by pass: is the program still valid, does its text still say all of it, does the oracle
still compute the same?

The oracle runs once for each phase. Only where a phase changed the meaning does it run for each of
its passes, to name the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tile_ir.core import Stage
from tile_ir.diag import TileError
from tile_ir.interp import run
from tile_ir.testing.compare import assert_all_close
from tile_ir.text import parse_function, print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.fuzz.cases import Case, spec_of

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.pipeline import Step

__all__ = ["Finding", "Outcome", "Settled", "first_change", "oracle", "said_of", "step_change"]

Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What is wrong with a case.

    `kind`: "meaning" (other values), "fault" (the oracle refuses to run the program), "invalid"
    (the verifier refuses it), "text" (its text reads back as another program), "crash" (a pass, an
    emitter, a toolchain or the oracle ended with an exception that names no mistake of the user's),
    "built" (the compiled program computes other values). `where` is the name of the pass, or the
    step before or after the passes ("oracle", "emit", "build", "run"); `position` its place in the
    pipeline, -1 before it.
    """

    kind: str
    where: str
    position: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A case after its passes: what is wrong if anything is, the code with which a pass refused
    the program if one did, the last state, and what the oracle says of the program itself."""

    finding: Finding | None
    refused: str | None
    state: State
    want: Arrays


@dataclass(slots=True, kw_only=True)
class Settled:
    """What cases of one program with the same inputs need not find out twice: what the program
    means, and which texts of later states were read and run and are right."""

    want: Arrays | None = None
    right: set[tuple[str, bool, int]] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Made:
    """A state after a pass that changed the program."""

    position: int
    name: str
    function: Function


def oracle(case: Case) -> Arrays:
    """What the program means; raises TileError where it means nothing."""
    return run(case.function, case.inputs())


def first_change(case: Case, settled: Settled | None = None) -> Outcome:
    """Send the case through its pipeline; stops at the first thing that is wrong.

    `settled` is shared by cases that have their program and inputs in common. Raises TileError for
    a program that means nothing before any pass.
    """
    known = Settled() if settled is None else settled
    state, pending, refused = State(function=case.function), list[_Made](), None
    try:
        want = known.want = oracle(case) if known.want is None else known.want
    except TileError:
        raise
    except Exception as error:  # no program that is valid may end the oracle so
        found = Finding(kind="crash", where="oracle", position=-1, message=_named(error))
        return Outcome(finding=found, refused=None, state=state, want={})
    cx, steps = PassContext(target=spec_of(case.target)), case.pipeline.steps
    finding = _misread(_Made(0, "parse", case.function))
    for position, step in enumerate(steps):
        if finding is not None:
            break
        after, finding, refused = _stepped(step, position, state, cx)
        if refused or finding is not None:
            break
        if after.function is not state.function:
            pending.append(_Made(position, step.run.name, after.function))
        state = after
        if position + 1 == len(steps) or steps[position + 1].run.phase != step.run.phase:
            finding, pending = _phase(case, pending, known), []
    finding = finding or _phase(case, pending if refused else [], known)
    return Outcome(finding=finding, refused=refused, state=state, want=want)


def step_change(case: Case, position: int) -> Finding | None:
    """What is wrong after the step at `position` although nothing is before it.

    A quicker `first_change` for programs that are known to fail there: what leads to the step is
    compared once. Raises TileError for a program that means nothing.
    """
    want = oracle(case)
    state, cx = State(function=case.function), PassContext(target=spec_of(case.target))
    steps = case.pipeline.steps
    for at, step in enumerate(steps[: position + 1]):
        before = state
        state, finding, refused = _stepped(step, at, state, cx)
        if refused or (finding is not None and at < position):
            return None
    if _compared(case, _Made(position - 1, "", before.function), want):
        return None
    if finding is not None or state.function is before.function:
        return finding
    made = _Made(position, steps[position].run.name, state.function)
    return _misread(made) or _compared(case, made, want)


def _stepped(
    step: Step, position: int, state: State, cx: PassContext
) -> tuple[State, Finding | None, str | None]:
    """The state after a step, what is wrong with it, the code with which it refused."""
    name = step.run.name
    here = replace(cx, options=dict(step.options)) if step.options else cx
    try:
        after = step.run(state, here)
    except TileError as error:
        return state, None, error.code
    except Exception as error:  # whatever a defect raises is what is looked for
        text = _named(error)
        return state, Finding(kind="crash", where=name, position=position, message=text), None
    if after.function is not state.function and (found := verify(after.function)):
        text = found[0].render()
        return state, Finding(kind="invalid", where=name, position=position, message=text), None
    return after, None, None


def _phase(case: Case, pending: list[_Made], known: Settled) -> Finding | None:
    """The first of a phase's states that is wrong, if its last one is."""
    if not pending:
        return None
    last, want = pending[-1], known.want
    assert want is not None  # the oracle ran before any pass
    key = (print_function(last.function), _strict(case, last), spec_of(case.target).warp_width)
    # What one thread does may use what only this target has: no other case says that it is right.
    shared = last.function.stage is not Stage.SIMT
    if shared and key in known.right:
        return None
    wrong = _misread(last) or _compared(case, last, want)
    if wrong is None:
        if shared:
            known.right.add(key)
        return None
    each = (_misread(made) or _compared(case, made, want) for made in pending)
    return next((found for found in each if found), wrong)


def _misread(made: _Made) -> Finding | None:
    text = print_function(made.function)
    try:
        again = parse_function(text)
    except TileError as error:
        message = str(error)
    else:
        if again == made.function:
            return None
        message = "the text reads back as another program"
    return Finding(kind="text", where=made.name, position=made.position, message=message)


def _compared(case: Case, made: _Made, want: Arrays) -> Finding | None:
    """What the oracle says of a state, beside what it says of the program."""
    try:
        spec, strict = spec_of(case.target), _strict(case, made)
        got = run(made.function, case.inputs(), strict=strict, target=spec)
    except TileError as error:
        kind, message = "fault", f"{error.code}: {error.message}"
    except Exception as error:  # a program that the verifier should have refused
        kind, message = "fault", _named(error)
    else:
        found = said_of(case, got, want)
        if found is None:
            return None
        kind, message = "meaning", found
    return Finding(kind=kind, where=made.name, position=made.position, message=message)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _strict(case: Case, made: _Made) -> bool:
    """Whether reads outside of memory are wrong by now: guards are explicit after `bounds`."""
    guarded = "bounds" in (s.run.name for s in case.pipeline.steps[: made.position + 1])
    return guarded or made.function.stage is not Stage.TILE


def said_of(case: Case, got: Arrays, want: Arrays) -> str | None:
    """Where results differ by more than the case allows, in words; None where they do not.

    What is not a number in `want` was never written, and may be anything.
    """
    try:
        assert_all_close({n: _known(a, want.get(n)) for n, a in got.items()}, want, case.tolerance)
    except AssertionError as error:
        return str(error)
    return None


def _known(got: Any, want: Any) -> Any:
    """The result with what is undefined in `want` as it is there."""
    if want is None or got.shape != want.shape or got.dtype != want.dtype:
        return got
    with np.errstate(invalid="ignore"):
        undefined = np.asarray(want != want)
    return np.where(undefined, want, got) if undefined.any() else got
