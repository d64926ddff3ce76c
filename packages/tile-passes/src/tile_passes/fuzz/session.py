"""Many cases: draw, check pass by pass, build a share of them, reduce what is wrong, keep it.

Programs are numbered; a number says all of a program's cases, so any of them can be had again
alone. Shares: every program goes through the passes of one architecture of each kind of target
under the oracle; one in `HOST_SHARE` is compiled for the host's processor and run, one in
`EMULATED_SHARE` is compiled for each other kind of target and run in an emulator.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

from tile_ir.plugin import discover, load
from tile_ir.target import parse_target
from tile_passes.fuzz.built import built_changes, shows_when_built
from tile_passes.fuzz.cases import Case, drawn, every_target, pipeline_of, spec_of
from tile_passes.fuzz.checks import Finding, first_change
from tile_passes.fuzz.corpus import text_of_case
from tile_passes.fuzz.reduction import reduced, shows_at_last
from tile_passes.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Mistake", "Options", "Report", "fuzz", "replayed"]

CHUNK = 100
HOST_SHARE = 10
EMULATED_SHARE = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to try.

    Programs `seed` to `seed + count - 1`; no new ones once `seconds` have passed. `targets` as
    text, all that are installed by default. `thin`: half the pipelines lack passes that they may
    lack. `build`: also compile and run a share. `reduce`: seconds to spend on each mistake.
    `jobs`: processes; 1 is this one alone.
    """

    count: int
    seed: int = 0
    targets: tuple[str, ...] = ()
    thin: bool = True
    build: bool = True
    seconds: float | None = None
    reduce: float = 60.0
    jobs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """What was found for a program, and the reduced case as text of a file for `--replay`."""

    seed: int
    target: str
    kind: str
    where: str
    message: str
    text: str

    @property
    def lines(self) -> int:
        """Lines of IR of the reduced program."""
        return sum(
            bool(line) and not line.startswith(("#", "tile.ir")) for line in self.text.splitlines()
        )


@dataclass(slots=True, kw_only=True)
class Report:
    """What was tried and found."""

    programs: int = 0
    cases: int = 0
    built: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    mistakes: list[Mistake] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: Report) -> None:
        """Count what another report has, too."""
        self.programs += other.programs
        self.cases += other.cases
        self.built += other.built
        self.refused += other.refused
        self.mistakes += other.mistakes


def fuzz(options: Options, each: Callable[[Report], None] | None = None) -> Report:
    """Try the programs; `each` sees the report after every chunk of them.

    Raises TileError for a target that is not installed or not described.
    """
    targets = options.targets or every_target()
    for target in targets:
        spec_of(target)
    start, report = time.monotonic(), Report()
    work = partial(_chunk, options=replace(options, targets=tuple(targets)))
    firsts = range(options.seed, options.seed + options.count, CHUNK)
    for part in _parts(work, firsts, options, start):
        report.add(part)
        report.seconds = time.monotonic() - start
        if each is not None:
            each(report)
    return report


def _parts(
    work: Callable[[int], Report], firsts: Sequence[int], options: Options, start: float
) -> Iterator[Report]:
    """The reports of chunks in their order, until the time is over."""
    limit = float("inf") if options.seconds is None else start + options.seconds
    if options.jobs == 1:
        for first in firsts:
            if time.monotonic() >= limit:
                return
            yield work(first)
        return
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        for at in range(0, len(firsts), options.jobs):
            if time.monotonic() >= limit:
                return
            yield from pool.map(work, firsts[at : at + options.jobs])


def _chunk(first: int, options: Options) -> Report:
    """A run of programs, whose share to build is compiled together."""
    report, waiting = Report(), dict[tuple[str, str | None], list[Case]]()
    end = min(first + CHUNK, options.seed + options.count)
    for seed in range(first, end):
        cases = drawn(seed, options.targets, thin=options.thin)
        report.programs += 1
        for case in cases:
            report.cases += 1
            outcome = first_change(case)
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
    """Among those to build, if it is of the share: as one of the host's, or for an emulator."""
    name = parse_target(case.target).name
    if spec_of(case.target).family == "cpu":
        if case.seed % HOST_SHARE == 0:
            host = replace(case, target=name, pipeline=pipeline_of(name))
            waiting.setdefault((name, None), []).append(host)
    elif case.seed % EMULATED_SHARE == 0 and load("tile.targets", name).emulate is not None:
        whole = replace(case, pipeline=pipeline_of(case.target))
        for entry in discover("tile.devices"):
            waiting.setdefault((case.target, entry.name), []).append(whole)


def _shortened(case: Case, finding: Finding, options: Options) -> Mistake:
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


def replayed(case: Case, device: str | None) -> Finding | None:
    """What is wrong with a case that was kept, today."""
    finding = first_change(case).finding
    if finding is not None or device is None:
        return finding
    return built_changes([case], None if device == "own" else device)[0]
