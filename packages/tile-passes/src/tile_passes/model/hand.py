"""Barriers that the user wrote: phases that end when all have arrived and all bytes have come."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_passes.model.machine import Event

if TYPE_CHECKING:
    from tile_ir.ops import Barriers
    from tile_passes.model.machine import Core

__all__ = ["Barrier", "awaited", "barrier_of"]

_ROUNDING = 1e-6


@dataclass(slots=True)
class Barrier:
    """One counted barrier: the arrivals that a phase needs, those that came in the current one, and
    the bytes that are announced for it and have not been issued."""

    needed: float
    phase: int = 0
    came: float = 0.0
    announced: float = 0.0
    time: float = 0.0
    ended: defaultdict[int, Event] = field(default_factory=lambda: defaultdict(Event))

    def arrive(self, core: Core, count: float, at: float) -> None:
        """So many arrivals at a time."""
        self.came += count
        self._until(core, at)

    def brought(self, core: Core, size: float, at: float, *, untold: bool) -> None:
        """A copy onto it ends at a time; `untold` bytes were announced before."""
        if untold:
            self.announced -= size
        self._until(core, at)

    def _until(self, core: Core, at: float) -> None:
        self.time = max(self.time, at)
        if self.came >= self.needed - _ROUNDING and self.announced <= _ROUNDING:
            core.happens(self.ended[self.phase], self.time)
            self.phase, self.came, self.time, self.announced = self.phase + 1, 0.0, 0.0, 0.0


def barrier_of(declared: Barriers, index: int) -> Barrier:
    """The state of one of the barriers of a declaration."""
    each = declared.each
    return Barrier(float(each[index % len(each)] if each else declared.arrivals))


def awaited(before: int | None, parity: int | None) -> int:
    """The number of the phase that a wait for a parity means, after one for the phase `before`; -1
    for the one before the first, which has ended."""
    if before is None:
        return -1 if parity == 1 else 0
    return before if parity is not None and before % 2 == parity else before + 1
