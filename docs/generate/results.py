"""The committed results of the benchmarks, read as what they say: works, each beside its peers."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks" / "results"
RECORDED = " (recorded)"
"""How a row calls a peer whose figure comes from an earlier run."""
_SCRIPTS = {"cpu": "cpu", "compile": "compile_time", "tune": "tune_cpu"}
"""Results whose script has another name than the file, or than `gpu.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A work beside one peer. `ratio` is above 1 where ours is better, whatever the unit."""

    work: str
    peer: str
    recorded: bool
    ours: float
    theirs: float
    unit: str
    ratio: float
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A file of results: its rows, and the machine and versions that it names."""

    path: Path
    machine: str
    versions: dict[str, str]
    rows: tuple[Row, ...]

    @property
    def script(self) -> str:
        """The script that writes this file."""
        name = self.path.stem.split("-")[0]
        own = ROOT / "benchmarks" / f"{name}.py"
        return f"benchmarks/{name if own.exists() else _SCRIPTS.get(name, 'gpu')}.py"


def all_results() -> list[Results]:
    """Every committed file that compares with peers, by name."""
    return [_results(path, text) for path, text in _read() if "machine" in text]


def predictions() -> list[tuple[Path, dict[str, Any]]]:
    """The files that compare what the performance model says with what was measured."""
    return [(path, text) for path, text in _read() if "near" in text]


def _read() -> list[tuple[Path, dict[str, Any]]]:
    return [(path, json.loads(path.read_text("utf-8"))) for path in sorted(FOLDER.glob("*.json"))]


def _results(path: Path, text: dict[str, Any]) -> Results:
    machine, versions = text["machine"], text["versions"]
    name = versions.get("gpu") or f"{machine['cpu']}, {machine['cores']} cores"
    rows = tuple(_row(r) for r in text["rows"])
    return Results(path=path, machine=name, versions=versions, rows=rows)


def _row(row: dict[str, Any]) -> Row:
    recorded = row["name"].endswith(RECORDED)
    return Row(
        work=row["name"].removesuffix(RECORDED).removesuffix(f" vs {row['peer_name']}"),
        peer=row["peer_name"],
        recorded=recorded,
        ours=row["ours"],
        theirs=row["peer"],
        unit=row["unit"],
        ratio=row["ratio"],
        note=row.get("note", ""),
    )


def family(work: str) -> str:
    """What kind of work it is: the first word, and those after it without a number."""
    first, *rest = work.partition(":")[0].split()
    kept = [first]
    for word in rest:
        if any(c.isdigit() for c in word) or word == "batch":
            break
        kept.append(word)
    return " ".join(kept).rstrip(",")


def is_summary(row: Row) -> bool:
    """Whether it is a mean of other rows."""
    return "geometric mean" in row.work


def geometric_mean(ratios: list[float]) -> float:
    """The geometric mean of ratios above 0."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
