"""What became of a candidate: measured, pruned, or failed, and why."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tile_tune.intervals import Interval, interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_tune.configuration import Configuration

__all__ = ["FAILED", "STATUSES", "Facts", "Trial"]

STATUSES = {
    "measured": "it ran, gave the right values, and has times",
    "pruned": "what is known without running it rules it out",
    "refused": "it does not compile",
    "wrong": "its values differ from the reference",
    "crashed": "the process that ran it died",
    "timeout": "it did not end in time",
    "error": "running it raised an exception",
}
"""Status of a trial -> what it says."""

FAILED = frozenset(STATUSES) - {"measured", "pruned"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a candidate before it runs.

    `registers` of one thread (the most of any kernel), `spilled` bytes or registers as the device
    compiler counts them, `threads` of a block, `shared` bytes of a block; 0 where the target does
    not say. `bound_ms`: the time below which the arithmetic and the bytes cannot be, 0 if unknown.
    `alternatives`: decision of the Plan -> the values that were weighed.
    """

    seconds: float = 0.0
    cached: bool = False
    registers: int = 0
    spilled: int = 0
    threads: int = 0
    shared: int = 0
    bound_ms: float = 0.0
    alternatives: Mapping[str, tuple[object, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One candidate and its outcome. `samples` are milliseconds; `reason` is for those without."""

    configuration: Configuration
    status: str = "measured"
    reason: str = ""
    samples: tuple[float, ...] = ()
    facts: Facts | None = None

    @property
    def is_measured(self) -> bool:
        """Whether there are times."""
        return self.status == "measured" and bool(self.samples)

    @property
    def interval(self) -> Interval:
        """The median time in milliseconds with its bounds; of a measured trial only."""
        return interval(self.samples)

    @property
    def median(self) -> float:
        """The median time in milliseconds; infinite where there is none."""
        return self.interval.median if self.is_measured else float("inf")

    def failed(self, status: str, reason: str) -> Trial:
        """The same candidate without times, and why."""
        return replace(self, status=status, reason=reason, samples=())
