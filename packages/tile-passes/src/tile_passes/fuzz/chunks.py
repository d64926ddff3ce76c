"""One worker's share of a session: some programs, pass by pass and built, and what is wrong with
them made short.

Shares: every program goes through the passes of one architecture of each kind of target under the
oracle; one in `HOST_SHARE` is compiled for the host's processor and run, and likewise for each
device that is present; one in `EMULATED_SHARE` is compiled for each other kind of target and run in
an emulator.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from tile_ir.plugin import discover, load
from tile_ir.target import parse_target
from tile_passes.fuzz.built import built_changes, shows_when_built
from tile_passes.fuzz.cases import Case, at_hand, drawn, pipeline_of, spec_of
from tile_passes.fuzz.checks import Finding, Settled, first_change
from tile_passes.fuzz.corpus import text_of_case
from tile_passes.fuzz.reduction import reduced, shows_at_last
from tile_passes.fuzz.reports import Mistake, Options, Report
from tile_passes.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHUNK", "chunk"]

CHUNK = 50
HOST_SHARE = 10
EMULATED_SHARE = 50


def chunk(first: int, options: Options) -> Report:
    """The programs from number `first` on, whose share to build is compiled together."""
    with _seldom_collecting():
        return _tried(first, options)


@contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Trees of programs have no cycles, so looking for garbage after every few hundred of their
    nodes costs a tenth of the time and finds next to nothing."""
    usual = gc.get_threshold()
    gc.set_threshold(200_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _tried(first: int, options: Options) -> Report:
    report, waiting = Report(), dict[tuple[str, str | None], list[Case]]()
    end = min(first + CHUNK, options.seed + options.count)
    for seed in range(first, end):
        cases = drawn(seed, options.targets, thin=options.thin)
        report.programs += 1
        settled = Settled()
        for case in cases:
            report.cases += 1
            outcome = first_change(case, settled)
            if outcome.refused is not None:
                report.refused[outcome.refused] += 1
            if outcome.finding is not None:
                report.mistakes.append(_shortened(case, outcome.finding, options))
            elif outcome.refused is None and options.build:
                _put(waiting, case)
    for (target, on), some in waiting.items():
        report.built[f"{target} in {on}" if on else target] += len(some)
        for case, finding in zip(some, built_changes(some, on), strict=True):
            if finding is not None:
                report.mistakes.append(_shortened_built(case, finding, on, options))
    return report


def _put(waiting: dict[tuple[str, str | None], list[Case]], case: Case) -> None:
    """Among those to build, if it is of the share: for the host's processor, for a device that is
    present, or for an emulator."""
    name, spec = parse_target(case.target).name, spec_of(case.target)
    host, device = spec.family == "cpu", spec.family != "cpu" and spec.arch == at_hand(name)
    if host or device:
        if case.seed % HOST_SHARE == 0:
            target = name if host else case.target
            own = replace(case, target=target, pipeline=pipeline_of(target))
            waiting.setdefault((target, None), []).append(own)
    elif case.seed % EMULATED_SHARE == 0 and load("tile.targets", name).emulate is not None:
        whole = replace(case, pipeline=pipeline_of(case.target))
        for entry in discover("tile.devices"):
            waiting.setdefault((case.target, entry.name), []).append(whole)


def _shortened(case: Case, finding: Finding, options: Options) -> Mistake:
    if finding.position < 0:  # edits are judged by the oracle, which fails here
        return _mistake(case, case, finding, None)
    steps = case.pipeline.steps[: finding.position + 1]
    cut = replace(case, pipeline=Pipeline(steps))
    return _mistake(case, reduced(cut, shows_at_last(finding), options.reduce), finding, None)


def _shortened_built(case: Case, finding: Finding, on: str | None, options: Options) -> Mistake:
    short = reduced(case, shows_when_built(finding, on), options.reduce)
    return _mistake(case, replace(short, pipeline=case.pipeline), finding, on or "own")


def _mistake(case: Case, short: Case, finding: Finding, on: str | None) -> Mistake:
    return Mistake(
        seed=case.seed,
        target=case.target,
        kind=finding.kind,
        where=finding.where,
        message=finding.message,
        text=text_of_case(short, finding, on),
    )
