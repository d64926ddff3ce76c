"""`tile-opt`, which is `tile opt` too: run passes over IR text from the command line, the way every
pass can be tested from a ten-line file."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.core import Module
from tile_ir.diag import InternalError, TileError
from tile_ir.exit_status import ExitStatus, status_of
from tile_ir.plugin import load
from tile_ir.target import TargetSpec, find_spec, load_spec, parse_target
from tile_ir.text import parse_module, print_function, print_module
from tile_ir.verify import check
from tile_passes.base import PassContext, State
from tile_passes.manager import Outcome, run_pipeline
from tile_passes.pipeline import Pipeline, Step, parse_pipeline
from tile_passes.registry import known_passes
from tile_passes.whole import GENERIC

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _target(text: str | None) -> TargetSpec:
    if text is None:
        return GENERIC
    if text.endswith((".yaml", ".yml")):
        return load_spec(Path(text))
    request = parse_target(text)
    return find_spec(load("tile.targets", request.name), request)


def add(made: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    where = "a file of IR text, or - for standard input (default)"
    made.add_argument("file", nargs="?", default="-", help=where)
    made.add_argument("-p", "--pipeline", default="", help='as in "bounds, simplify"')
    made.add_argument("--target", help="a target as in 'cpu -arch=NAME', or a description's file")
    made.add_argument("--verify-each", action=argparse.BooleanOptionalAction, default=True)
    made.add_argument("--print-after-all", action="store_true", help="print after each change")
    made.add_argument("--timing", action="store_true", help="print milliseconds per pass")
    made.add_argument("--list", action="store_true", help="list the passes and stop")
    made.add_argument("--json", action="store_true", help="print JSON")
    made.set_defaults(run=_run)


def optimize(
    text: str,
    pipeline: str,
    target: str | None = None,
    *,
    file: str = "<tile-ir>",
    pins: Mapping[str, object] | None = None,
) -> str:
    """Parse IR text, run a pipeline over every function, and print the result.

    `pins` holds decisions of the Plan by their keys.

    Raises:
        TileError: the text or the pipeline is malformed, or a pass refuses the program.
    """
    passes = parse_pipeline(pipeline, known_passes())
    module = parse_module(text, file=file)
    check(module)
    cx = PassContext(target=_target(target), pins=pins or {})
    made = (run_pipeline(passes, State(function=fn), cx).state.function for fn in module.functions)
    return print_module(Module(functions=tuple(made)))


def _report(outcome: Outcome) -> str:
    rows = (
        f"{t.seconds * 1e3:8.2f} ms  verify {t.verify_seconds * 1e3:6.2f} ms  {t.name}"
        for t in outcome.timings
    )
    return "\n".join(rows)


def _print_change(step: Step, before: State, after: State) -> None:
    if after.function is not before.function:
        print(f"// after {step}\n{print_function(after.function)}\n", file=sys.stderr)


def _run(args: argparse.Namespace) -> ExitStatus:
    passes = known_passes()
    if args.list:
        listed = [(n, p.phase, p.doc.strip().splitlines()[0]) for n, p in passes.items()]
        text = "\n".join(f"{name:20} {phase:9} {doc}" for name, phase, doc in listed)
        document = [{"pass": n, "phase": phase, "doc": doc} for n, phase, doc in listed]
        print(json.dumps(document) if args.json else text)
        return ExitStatus.DONE
    pipeline: Pipeline = parse_pipeline(args.pipeline, passes)
    source = sys.stdin.read() if args.file == "-" else Path(args.file).read_text(encoding="utf-8")
    module = parse_module(source, file=args.file)
    check(module)
    cx = PassContext(target=_target(args.target))
    observer = _print_change if args.print_after_all else None
    functions, took = [], []
    for fn in module.functions:
        outcome = run_pipeline(
            pipeline, State(function=fn), cx, verify_each=args.verify_each, observer=observer
        )
        functions.append(outcome.state.function)
        took.append({t.name: t.seconds for t in outcome.timings})
        if args.timing:
            print(_report(outcome), file=sys.stderr)
    text = print_module(replace(module, functions=tuple(functions)))
    print(json.dumps({"module": text, "seconds": took}) if args.json else text)
    return ExitStatus.DONE


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of `tile-opt`; returns its `ExitStatus` after printing an error's diagnostics."""
    parser = argparse.ArgumentParser(prog="tile-opt", description="Run passes over IR text.")
    add(parser)
    args = parser.parse_args(argv)
    try:
        return int(_run(args))
    except (TileError, InternalError, OSError) as error:
        print(error, file=sys.stderr)
        return int(status_of(error))
