"""`tile fuzz`: random programs through every target's passes and compilers, by the number."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.exit_status import ExitStatus
from tile_passes.fuzz.reports import Mistake, Options, Report, read_report, write_report
from tile_passes.fuzz.session import fuzz, replayed

if TYPE_CHECKING:
    import argparse

__all__ = ["add"]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("--count", type=int, default=100, help="programs to try")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        help="as in 'cpu -arch=znver4', may be repeated; every architecture by default",
    )
    parser.add_argument(
        "--pipeline",
        choices=("random", "default"),
        default="random",
        help="random: half the pipelines lack some passes that only make programs better",
    )
    parser.add_argument("--corpus", type=Path, help="write reduced programs into this folder")
    parser.add_argument("--time", type=float, metavar="SECONDS", help="begin no more after that")
    parser.add_argument(
        "--reduce", type=float, default=60.0, metavar="SECONDS", help="spent on each mistake"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--build",
        action="store_true",
        default=True,
        help="compile and run a share of the programs (default)",
    )
    parser.add_argument("--no-build", dest="build", action="store_false", help="passes alone")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="try kept programs")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="FILE",
        help="keep the report in this file as it grows, and go on from what it has",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> ExitStatus:
    if options.replay:
        return _replay(options)
    chosen = Options(
        count=options.count,
        seed=options.seed,
        targets=tuple(options.target),
        thin=options.pipeline == "random",
        build=options.build,
        seconds=options.time,
        reduce=options.reduce,
        jobs=max(1, options.jobs),
    )
    kept: Path | None = options.resume
    done = Report() if kept is None else read_report(kept, chosen)
    shown = _Progress(chosen.count, done.programs)

    def each(report: Report) -> None:
        if kept is not None:
            write_report(kept, report, chosen)
        if not options.json:
            shown(report)

    report = fuzz(chosen, each, done)
    files = [_write(options.corpus, m) for m in report.mistakes] if options.corpus else []
    if options.json:
        print(json.dumps({**report.plain(), "files": [str(f) for f in files]}))
    else:
        print(_told(report, files))
    return ExitStatus.FOUND if report.mistakes else ExitStatus.DONE


class _Progress:
    """One line on standard error: rewritten on a terminal, else a new one each minute."""

    def __init__(self, count: int, first: int) -> None:
        self.count, self.first = count, first
        self.begun = self.last = time.monotonic()

    def __call__(self, report: Report) -> None:
        """Say how far it is and how long it takes; the rate is that of this session."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if not terminal and now - self.last < 60:
            return
        self.last = now
        each = (now - self.begun) / max(report.programs - self.first, 1)
        left = each * (self.count - report.programs) / 60
        text = (
            f"{report.programs} of {self.count} programs, {len(report.mistakes)} mistakes, "
            f"{each:.2f} s each, {left:.0f} min left"
        )
        end = "\r" if terminal and report.programs < self.count else "\n"
        print(f"{text:<78}", file=sys.stderr, end=end, flush=True)


def _write(folder: Path, mistake: Mistake) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    target = mistake.target.replace(" -arch=", "-")
    path = folder / f"{mistake.kind}-{mistake.where}-{target}-{mistake.seed}.tir"
    path.write_text(mistake.text, encoding="utf-8")
    return path


def _told(report: Report, files: list[Path]) -> str:
    built = ", ".join(f"{n} for {target}" for target, n in sorted(report.built.items()))
    refused = ", ".join(f"{n} {code}" for code, n in sorted(report.refused.items()))
    lines = [
        f"{report.programs} programs, {report.cases} pipelines in {report.seconds:.1f} s: "
        f"{len(report.mistakes)} mistakes"
    ]
    lines += [f"built and run: {built}"] if built else []
    lines += [f"refused: {refused}"] if refused else []
    for m in report.mistakes:
        lines += [
            "",
            f"program {m.seed} for {m.target}: {m.kind} after {m.where}",
            m.message,
            m.text.rstrip(),
        ]
    lines += [f"wrote {f}" for f in files]
    return "\n".join(lines)


def _replay(options: argparse.Namespace) -> ExitStatus:
    from tile_passes.fuzz.corpus import read_cases

    found = {
        f"{path} for {case.target}": replayed(case, device)
        for path in options.replay
        for case, device in read_cases(path)
    }
    if options.json:
        print(json.dumps({name: f and asdict(f) for name, f in found.items()}))
    else:
        for name, f in found.items():
            print(f"{name}: " + (f"{f.kind} after {f.where}: {f.message}" if f else "right"))
    return ExitStatus.FOUND if any(found.values()) else ExitStatus.DONE
