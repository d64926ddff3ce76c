"""Many cases: draw, check pass by pass, build a share of them, reduce what is wrong, keep it.

Programs are numbered; a number says all of a program's cases, so any of them can be had again
alone. Runs of programs are handed to processes; reports come back in the order of the numbers.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

from tile_passes.fuzz.built import built_changes
from tile_passes.fuzz.cases import every_target, spec_of
from tile_passes.fuzz.checks import first_change
from tile_passes.fuzz.chunks import CHUNK, chunk
from tile_passes.fuzz.reports import Mistake, Options, Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tile_passes.fuzz.cases import Case
    from tile_passes.fuzz.checks import Finding

__all__ = ["Mistake", "Options", "Report", "fuzz", "replayed"]

_AHEAD = 3
"""Chunks handed out for each process: one may take much longer than the next."""


def fuzz(
    options: Options,
    each: Callable[[Report], None] | None = None,
    done: Report | None = None,
) -> Report:
    """Try the programs; `each` sees the report after every chunk of them.

    `done` is the report of the programs that came before, of the same options: the first ones of
    them are not tried again. Raises TileError for a target that is not installed or not described.
    """
    targets = options.targets or every_target()
    for target in targets:
        spec_of(target)
    start, report = time.monotonic(), done or Report()
    spent = report.seconds
    work = partial(chunk, options=replace(options, targets=tuple(targets)))
    firsts = range(options.seed + report.programs, options.seed + options.count, CHUNK)
    for part in _parts(work, firsts, options, start):
        report.add(part)
        report.seconds = spent + time.monotonic() - start
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
        waiting = deque[Future[Report]]()
        for first in firsts:
            if time.monotonic() >= limit:
                break
            waiting.append(pool.submit(work, first))
            if len(waiting) >= _AHEAD * options.jobs:
                yield waiting.popleft().result()
        for future in waiting:
            if time.monotonic() < limit or not future.cancel():
                yield future.result()


def replayed(case: Case, device: str | None) -> Finding | None:
    """What is wrong with a case that was kept, today."""
    finding = first_change(case).finding
    if finding is not None or device is None:
        return finding
    return built_changes([case], None if device == "own" else device)[0]
