"""Writes docs/surface.md: every name that public programs use, where it runs, and the test that
shows it, or why it is not carried out.

`python docs/generate/surface.py` writes, with `--check` it only says what is out of date. Both fail
when a name that is carried out has no test that compares numbers. Where a name runs is found by
compiling the program of its documentation, as far as the source that the target's compiler gets.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache

from example_programs import program_of, traced
from language_names import ROOT, TYPES, Wanted, surface, value_of, why_not
from pages import write_or_check
from test_index import FOLDERS, Usage, usages

from tile_frontend import driver
from tile_frontend.language.function import PrimFunc
from tile_frontend.target_select import select
from tile_ir.diag import TileError

PAGE = ROOT / "docs" / "surface.md"
TARGETS = (
    "cpu",
    "cuda -arch=sm_80",
    "cuda -arch=sm_90a",
    "rocm -arch=gfx942",
    "metal -arch=apple7",
)
PROGRAM = "tests/language/test_reference.py::test_the_program_of_a_name_runs"
HOST_ONLY = frozenset({"prim_func", "const", "target"})
"""What works while a program is traced and leaves nothing that could be compared."""

INTRO = """<!-- written by docs/generate/surface.py: run nox -s surface -->

# The surface

What public TileLang programs use of their language, most used first: {total} names, of which {done}
are carried out and {refused} are refused, each with its reason below. A target is named where the
program of the name's [documentation](reference/README.md) compiles for it. The test compares
numbers, on the CPU or in the emulator; `nox -s emulate` runs tests/language for any target.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A name that is carried out, with the target's names without `-arch=` and the test."""

    wanted: Wanted
    targets: tuple[str, ...]
    test: str | None


def rows() -> tuple[list[Row], dict[Wanted, str]]:
    """The names that are carried out, and the others with the reason."""
    done, refused = [], {}
    for wanted in surface():
        reason = why_not(wanted.name)
        if reason is not None:
            refused[wanted] = reason
        else:
            targets = tuple(short(t) for t in TARGETS if runs_on(wanted.name, t))
            done.append(Row(wanted=wanted, targets=targets, test=best_test(wanted.name)))
    return done, refused


def short(target: str) -> str:
    """A target's architecture, or its name."""
    return target.partition("-arch=")[2] or target


def runs_on(name: str, target: str) -> bool:
    """Whether the program of a name compiles for a target."""
    program = _program(name)
    if program is None:
        return False
    try:
        driver.lowered(program.function, select(target))
    except TileError:
        return False
    return True


@cache
def _program(name: str) -> PrimFunc | None:
    """The traced program of a name; one in the eager style is traced for a small matrix."""
    import numpy as np

    text = program_of(name, value_of(name))
    if text is None:
        return None
    found = traced(text)
    return found if isinstance(found, PrimFunc) else found.get_tir(np.zeros((8, 8), np.float32))


@cache
def numeric_tests() -> dict[str, list[Usage]]:
    """For each name the tests that use it and compare numbers."""
    known = frozenset(wanted.name for wanted in surface())
    kinds = frozenset(name for name in TYPES if any(c.isdigit() for c in name))
    found: dict[str, list[Usage]] = {}
    for usage in usages(ROOT, known, kinds):
        for name in usage.names if usage.numeric else ():
            found.setdefault(name, []).append(usage)
    return found


def best_test(name: str) -> str | None:
    """The test that shows a name: of those that compare numbers the one in the best folder that is
    about the fewest names, else the one that runs the program of its documentation."""
    found = numeric_tests().get(name)
    if found:
        return min(found, key=_preference).test
    return None if name in HOST_ONLY or program_of(name, value_of(name)) is None else PROGRAM


def _preference(usage: Usage) -> tuple[int, int, str]:
    folders = (folder.partition("*")[0] for folder in FOLDERS)
    place = next(i for i, folder in enumerate(folders) if usage.test.startswith(folder))
    return place, len(usage.names), usage.test


def page(done: list[Row], refused: dict[Wanted, str]) -> str:
    """The text of docs/surface.md."""
    total = len(done) + len(refused)
    parts = [INTRO.format(total=total, done=len(done), refused=len(refused)), "## Carried out\n"]
    parts.append("| rank | name | family | targets | test |\n|--:|---|---|---|---|")
    for row in done:
        where = "all" if len(row.targets) == len(TARGETS) else ", ".join(row.targets)
        only = "host only" if row.wanted.name in HOST_ONLY else "none"
        shown = f"`{row.test}`" if row.test else only
        parts.append(
            f"| {row.wanted.rank} | `{row.wanted.name}` | {row.wanted.family} | {where} | {shown} |"
        )
    parts.append("\n## Refused\n\n| rank | name | family | reason |\n|--:|---|---|---|")
    for wanted, reason in refused.items():
        parts.append(f"| {wanted.rank} | `{wanted.name}` | {wanted.family} | {reason} |")
    return "\n".join(parts) + "\n"


def untested(done: list[Row]) -> list[str]:
    """Names that are carried out and that no test compares."""
    return [r.wanted.name for r in done if not r.test and r.wanted.name not in HOST_ONLY]


def main() -> int:
    """Write or check the page."""
    done, refused = rows()
    missing = untested(done)
    for name in missing:
        print(f"no test compares what T.{name} does")
    text = page(done, refused)
    alone = [r.wanted.name for r in done if r.test == PROGRAM]
    print(f"{len(done)} names carried out, {len(refused)} refused")
    print(f"only the program of their documentation shows {', '.join(alone) or 'none'}")
    return write_or_check({PAGE: text}) or int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
