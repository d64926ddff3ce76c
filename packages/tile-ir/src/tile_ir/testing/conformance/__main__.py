"""`python -m tile_ir.testing.conformance TARGET`: a table of what a target, or a pass, does."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.plugin import resolve
from tile_ir.testing.conformance.base import Conformance
from tile_ir.testing.conformance.passes import PassConformance
from tile_ir.testing.conformance.report import examine
from tile_ir.testing.conformance.targets import TargetConformance

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def _parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tile_ir.testing.conformance", description=main.__doc__
    )
    made.add_argument("name", help="an installed target, or a pass with --pass")
    made.add_argument("--pass", dest="is_pass", action="store_true", help="the name is a pass's")
    made.add_argument("--arch", help="the description to compile for; the machine's own else")
    made.add_argument("--level", default="", help="the last level: manifest, emit, compile, run...")
    made.add_argument("--samples", help="names of the corpus, with commas; all else")
    made.add_argument("--of", metavar="MODULE:CLASS", help="the plugin's own conformance class")
    made.add_argument("--json", type=Path, metavar="FILE", help="write the report there too")
    return made


def subject_of(options: argparse.Namespace) -> Conformance:
    """The class that the options ask for, made to test what they name.

    Raises TileError E0906 for a class that cannot be imported, ValueError for what is no such class
    and for samples that the corpus does not have.
    """
    default = PassConformance if options.is_pass else TargetConformance
    base = resolve(options.of) if options.of else default
    if not (isinstance(base, type) and issubclass(base, Conformance)):
        raise ValueError(f"{options.of} is no conformance class")
    asked = {"plugin": options.name} if options.is_pass else {"target": options.name}
    if options.arch:
        asked["arch"] = options.arch
    if options.samples:
        asked["samples"] = tuple(options.samples.split(","))
    made: Conformance = type("Subject", (base,), asked)()
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Test an installed target or pass and say which level it reaches: 0 when it is the one asked
    for, 1 when not, 2 for options that make no sense.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        subject = subject_of(options)
    except (TileError, ValueError) as error:
        parser.error(str(error))
    if options.json and not options.json.parent.is_dir():
        parser.error(f"there is no folder {options.json.parent}")
    if options.level and options.level not in subject.levels:
        parser.error(f"there is no level {options.level!r}: {', '.join(subject.levels)}")
    report = examine(subject, options.level)
    print(report.table())
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=1) + "\n", encoding="utf-8")
    return 0 if report.conforms else 1


if __name__ == "__main__":
    sys.exit(main())
