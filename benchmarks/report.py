"""What every benchmark script shares: interleaved timing, the result file, the table, the verdict.

A row is `{name, ours, peer, peer_name, unit, ratio, bar}`; a ratio above 1 means ours is better,
and `--check` makes the script fail with the names of the rows whose ratio is below their bar.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One comparison; `ours` and `peer` are medians in `unit`."""

    name: str
    ours: float
    peer: float
    peer_name: str
    unit: str
    ratio: float
    bar: float
    note: str = ""
    """How it was taken, or what went wrong."""

    @property
    def holds(self) -> bool:
        """Whether the ratio reaches its bar."""
        return self.ratio >= self.bar


PAUSE_S = 0.25


def medians(
    run: Sequence[Callable[[], object]], rounds: int = 15, budget_s: float = 3.0
) -> list[float]:
    """Median seconds of each callable, taken in turns so that drift of the machine hits all alike.

    A pause before each lets the spinning threads of the one before go to sleep: they would take a
    core from this one. The order alternates between rounds; at least 5 rounds run, then until
    `rounds` or the time budget is used up.
    """
    for f in run:
        f()
    samples: list[list[float]] = [[] for _ in run]
    start = time.perf_counter()
    for i in range(rounds):
        order = range(len(run)) if i % 2 == 0 else reversed(range(len(run)))
        for j in order:
            time.sleep(PAUSE_S)
            begin = time.perf_counter()
            run[j]()
            samples[j].append(time.perf_counter() - begin)
        if i >= 4 and time.perf_counter() - start > budget_s:
            break
    return [statistics.median(s) for s in samples]


def machine() -> dict[str, object]:
    """The processor, its cores and the system, as the result file names them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
        family = {
            key: next((x.split(":", 1)[1].strip() for x in lines if x.startswith(key)), "")
            for key in ("cpu family", "model\t", "stepping")
        }
    except (OSError, StopIteration):
        family = {}
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        **{k.strip(): v for k, v in family.items()},
    }


def versions(*names: str) -> dict[str, str]:
    """Installed versions of distributions, and the interpreter's."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    head = ("case", "ours", "peer", "unit", "ratio", "bar", "peer is", "")
    body = [
        (
            r.name,
            f"{r.ours:.4g}",
            f"{r.peer:.4g}",
            r.unit,
            f"{r.ratio:.3f}",
            f"{r.bar:.2f}",
            r.peer_name,
            f"{'ok' if r.holds else 'BELOW'}  {r.note}".rstrip(),
        )
        for r in rows
    ]
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in (head, *body)
    )


def parser(doc: str | None) -> argparse.ArgumentParser:
    """The options every script has."""
    made = argparse.ArgumentParser(description=(doc or "").strip().splitlines()[0])
    made.add_argument("--json", type=Path, help="write the result file here")
    made.add_argument("--check", action="store_true", help="fail when a row is below its bar")
    made.add_argument("--only", default="", help="run the cases whose name contains this text")
    return made


def finish(rows: Sequence[Row], args: argparse.Namespace, used: dict[str, str]) -> int:
    """Print the table, write the file, and return the exit status."""
    print(table(rows))
    if args.json:
        result = {"machine": machine(), "versions": used, "rows": [asdict(r) for r in rows]}
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    below = [r.name for r in rows if not r.holds]
    if args.check and below:
        print("below the bar: " + ", ".join(below), file=sys.stderr)
        return 1
    return 0
