"""What a session is asked and what it says: options, mistakes, the report, and the report as a file
that a later session goes on from.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import TileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Mistake", "Options", "Report", "read_report", "write_report"]


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

    def plain(self) -> dict[str, object]:
        """The same for JSON. `asdict` alone would make each Counter anew from its pairs, and count
        those."""
        return asdict(self) | {"built": dict(self.built), "refused": dict(self.refused)}


def _same(options: Options) -> dict[str, object]:
    """What has to be the same for a report to be gone on with: how many programs is not."""
    asked = asdict(options)
    named = ("seed", "targets", "thin", "build")
    return {n: list(asked[n]) if n == "targets" else asked[n] for n in named}


def write_report(path: Path, report: Report, options: Options) -> None:
    """Keep a report; the file is whole at any time."""
    text = json.dumps({"options": _same(options), "report": report.plain()}, indent=1)
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def read_report(path: Path, options: Options) -> Report:
    """The report that was kept, an empty one where there is no file.

    Raises TileError E2605 for a file of another kind, or of a session with other options.
    """
    if not path.exists():
        return Report()
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        old, said = kept["options"], kept["report"]
        mistakes = [Mistake(**m) for m in said.pop("mistakes")]
        built, refused = Counter(said.pop("built")), Counter(said.pop("refused"))
        report = Report(**said, built=built, refused=refused, mistakes=mistakes)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unfit(path, f"it is no report of tile fuzz ({type(error).__name__})") from error
    other = [f"{n} was {old.get(n)!r}" for n, v in _same(options).items() if old.get(n) != v]
    if other:
        raise _unfit(path, f"it is of a session with other options: {', '.join(other)}")
    return report


def _unfit(path: Path, why: str) -> TileError:
    return TileError(
        "E2605",
        f"cannot go on from {path}",
        notes=(why,),
        help="give the options of that session, or name another file",
    )
