"""Runs a pipeline: verify after each pass, time it, dump it, and leave a reproducer when a pass
breaks the program."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tile_ir.diag import InternalError, TileError
from tile_ir.text import print_function
from tile_ir.verify import verify
from tile_passes.base import PassContext, State
from tile_passes.pipeline import Pipeline, Step


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds that a pass and the verification after it took."""

    name: str
    phase: str
    seconds: float
    verify_seconds: float
    changed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The final state and what each pass cost."""

    state: State
    timings: tuple[Timing, ...]


Check = Callable[[], object]
"""A check that was put off: it returns, or raises what the pass would have raised in its place."""

Observer = Callable[[Step, State, State], None]
"""Called after each pass with the states before and after it."""


def run_pipeline(
    pipeline: Pipeline,
    state: State,
    cx: PassContext,
    *,
    verify_each: bool = True,
    observer: Observer | None = None,
    later: list[Check] | None = None,
) -> Outcome:
    """Run every step in order.

    The program is verified after each pass that changed it, so a defect is blamed on the pass that
    made it. Passes that only check are put into `later`, where it is given, instead of being run:
    they change nothing, so that the caller may run them beside other work. It has to run all of
    them, and before it lets another error out.

    Raises:
        TileError: what a pass refuses; it is the user's.
        InternalError: E9002 when a pass fails otherwise or leaves a program that does not
            verify; a reproducer is
            written beside the temporary files of this process and named in the error.
    """
    timings: list[Timing] = []
    for step in pipeline.steps:
        start = time.perf_counter()
        here = replace(cx, options=dict(step.options)) if step.options else cx
        if later is not None and step.run.check is not None:
            later.append(partial(_run, step, state, here))
            continue
        after = _run(step, state, here)
        mid = time.perf_counter()
        changed = after.function is not state.function
        if verify_each and changed:
            found = verify(after.function)
            if found:
                raise _broken(step, state, "\n".join(d.render() for d in found))
        if observer is not None:
            observer(step, state, after)
        end = time.perf_counter()
        timings.append(Timing(step.run.name, step.run.phase, mid - start, end - mid, changed))
        state = after
    return Outcome(state, tuple(timings))


def _run(step: Step, state: State, cx: PassContext) -> State:
    try:
        return step.run(state, cx)
    except (TileError, InternalError):
        raise
    except Exception as cause:
        raise _broken(step, state, f"failed: {type(cause).__name__}: {cause}") from cause


def _broken(step: Step, before: State, what: str) -> InternalError:
    error = InternalError("E9002", f"pass '{step.run.name}' {what}", span=before.function.span)
    text = f"// RUN: tile-opt %s -p '{step}'\n{print_function(before.function)}\n"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix=f"tile-{step.run.name}-", suffix=".tir", delete=False
        ) as file:
            file.write(text)
        error.reproducer = str(Path(file.name))
    except OSError:
        error.reproducer = None
    return error
