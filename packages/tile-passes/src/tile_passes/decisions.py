"""The Plan: every decision of the compiler as data, with the alternatives it beat.

`expand` applies a Plan mechanically, `explain()` prints it, a pin replaces one value by its key,
and it is stored with the binary. Keys use the user's names: `matmul.k.depth`, `matmul.C_l.layout`,
`matmul.tiles.strip`; a statement is `op:destination`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PlanValue = bool | int | float | str | tuple["PlanValue", ...]
"""Values have a canonical text, so a Plan round-trips."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An alternative that was weighed: `cost` in the model's unit (cycles unless `reason` says
    otherwise)."""

    value: PlanValue
    cost: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One choice: by the `model`, the `user` (a pin), a `table` or the `tuner`; `reason` in one
    sentence."""

    key: str
    value: PlanValue
    by: str = "model"
    reason: str = ""
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions in the order they were made; at most one per key."""

    decisions: tuple[Decision, ...] = ()

    def __iter__(self) -> Iterator[Decision]:
        return iter(self.decisions)

    def find(self, key: str) -> Decision | None:
        """The decision of that key, or None."""
        return next((d for d in self.decisions if d.key == key), None)

    def value(self, key: str, default: PlanValue) -> PlanValue:
        """The value decided for `key`, or `default`."""
        found = self.find(key)
        return default if found is None else found.value

    def decide(self, decision: Decision) -> Plan:
        """A Plan with this decision, replacing one of the same key."""
        kept = tuple(d for d in self.decisions if d.key != decision.key)
        return Plan((*kept, decision))
