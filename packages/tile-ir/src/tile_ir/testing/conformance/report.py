"""The checks of a conformance class without pytest around them: what came of each, as data.

A level is reached when each of its checks and of those below it passed or was refused by name, and
at least one passed. What could not be tried here counts as not reached: an absent device proves
nothing.
"""

from __future__ import annotations

import inspect
import platform
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tile_ir.testing.conformance.base import Conformance, Refused, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["SCHEMA", "STATUSES", "Finding", "Report", "examine"]

SCHEMA = 1
"""Of the JSON; it grows when a key changes its meaning."""
Status = Literal["passed", "refused", "unavailable", "failed"]
STATUSES: tuple[Status, ...] = ("passed", "refused", "unavailable", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What came of one check. `detail` says why it did not pass; `seconds` is what it took."""

    level: str
    check: str
    status: Status
    seconds: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings about one target or pass, of the levels up to the one asked for, `through`."""

    subject: str
    levels: tuple[str, ...]
    through: str
    findings: tuple[Finding, ...]

    def counts(self, level: str) -> Counter[str]:
        """Status -> how many checks of a level have it."""
        return Counter(f.status for f in self.findings if f.level == level)

    @property
    def reached(self) -> str:
        """The highest level reached, or an empty text."""
        last = ""
        for level in self.levels:
            found = self.counts(level)
            if not found["passed"] or found["failed"] or found["unavailable"]:
                break
            last = level
        return last

    @property
    def conforms(self) -> bool:
        """Whether the level asked for is reached."""
        return self.reached == self.through

    def as_json(self) -> dict[str, Any]:
        """The report as one JSON document."""
        return {
            "schema": SCHEMA,
            "subject": self.subject,
            "python": platform.python_version(),
            "machine": platform.platform(),
            "through": self.through,
            "reached": self.reached,
            "conforms": self.conforms,
            "levels": {name: {s: self.counts(name)[s] for s in STATUSES} for name in self.levels},
            "findings": [asdict(finding) for finding in self.findings],
        }

    def table(self) -> str:
        """Counts by level, then a line for each check that did not pass."""
        rows = [f"{'level':<10}" + "".join(f"{s:>13}" for s in STATUSES) + f"{'seconds':>10}"]
        for level in self.levels:
            found = self.counts(level)
            seconds = sum(f.seconds for f in self.findings if f.level == level)
            cells = "".join(f"{found[s]:>13}" for s in STATUSES)
            rows.append(f"{level:<10}{cells}{seconds:>10.1f}")
        rows += [_line(f) for f in self.findings if f.status != "passed"]
        verdict = "conforms" if self.conforms else "does not conform"
        return "\n".join([*rows, f"{self.subject} {verdict} through level {self.through}"])


def _line(finding: Finding) -> str:
    detail = next(iter(finding.detail.splitlines()), "")
    return f"{finding.status:<12} {finding.level}: {finding.check}: {detail}"


def examine(subject: Conformance, through: str = "") -> Report:
    """Run the checks of a conformance class, level by level up to `through` (by default the last).

    Levels above one with a failure are tried nevertheless: what works is worth knowing. Raises
    ValueError for a level that the class does not have.
    """
    through = through or subject.levels[-1]
    if through not in subject.levels:
        raise ValueError(f"there is no level {through!r}: {', '.join(subject.levels)}")
    levels = subject.levels[: subject.levels.index(through) + 1]
    checks = [c for level in levels for c in _checks(subject, level)]
    return Report(
        subject=subject.subject,
        levels=levels,
        through=through,
        findings=tuple(_found(*check) for check in checks),
    )


def _checks(subject: Conformance, level: str) -> Iterator[tuple[str, str, Callable[..., None]]]:
    """Level, name and function of each check: it takes a folder of its own where it wants one."""
    for name in (n for n, of in subject.checks.items() if of == level):
        method = getattr(subject, name)
        plain = name.removeprefix("test_").replace("_", " ")
        if "sample" not in inspect.signature(method).parameters:
            yield level, plain, method
            continue
        for sample in subject.samples:
            yield level, f"{plain}: {sample}", _of_sample(method, sample)


def _of_sample(method: Callable[..., None], sample: str) -> Callable[..., None]:
    if "tmp_path" in inspect.signature(method).parameters:
        return lambda tmp_path: method(sample=sample, tmp_path=tmp_path)
    return lambda: method(sample=sample)


def _found(level: str, name: str, check: Callable[..., None]) -> Finding:
    start = time.perf_counter()
    status, detail = _outcome(check)
    seconds = round(time.perf_counter() - start, 3)
    return Finding(level=level, check=name, status=status, seconds=seconds, detail=detail)


def _outcome(check: Callable[..., None]) -> tuple[Status, str]:
    try:
        with tempfile.TemporaryDirectory(prefix="tile-conformance-") as folder:
            wants = "tmp_path" in inspect.signature(check).parameters
            check(**({"tmp_path": Path(folder)} if wants else {}))
    except Refused as refusal:
        return "refused", str(refusal.msg)
    except Skipped as skip:
        return "unavailable", str(skip.msg)
    except Exception as error:  # a stranger's code may fail in any way; the report says how
        return "failed", f"{type(error).__name__}: {error}"
    return "passed", ""
