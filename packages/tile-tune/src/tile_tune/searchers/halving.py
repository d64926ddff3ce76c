"""Successive halving with intervals: few timings for many, more timings for those that may be best.

After each rung the slower half goes, and with it everything whose interval lies wholly above that
of the best. The idea is that of
K. Jamieson and A. Talwalkar, Non-stochastic Best Arm Identification and Hyperparameter Optimization
(2016).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tile_tune.intervals import CONFIDENCE
from tile_tune.searchers.base import Round, best_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.configuration import Configuration
    from tile_tune.intervals import Interval
    from tile_tune.space import Space
    from tile_tune.trial import Trial

__all__ = ["Halving"]

FIRST_SAMPLES = 3
MOST_SAMPLES = 48
KEEP = 2
"""One part in so many goes on."""
FEW = 4
"""So few need no further rung: the tuner compares them at the end."""


class Halving:
    """Starts with as many random members as there are trials, and doubles the timings each rung."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.samples = FIRST_SAMPLES
        self.alive: tuple[Configuration, ...] = ()
        self.started = False

    def ask(self, remaining: int) -> Round | None:
        if not self.started:
            self.started = True
            self.alive = tuple(self.space.sample(self.rng, remaining))
            return Round(self.alive, self.samples) if self.alive else None
        if len(self.alive) <= FEW or self.samples > MOST_SAMPLES:
            return None
        return Round(self.alive, self.samples)

    def tell(self, trials: Sequence[Trial]) -> None:
        ranked = best_first(trials)
        if not ranked:
            self.alive = ()
            return
        best = ranked[0].interval
        half = max(FEW, -(-len(ranked) // KEEP))
        rivals = [t for t in ranked if not _is_above(t.interval, best)]
        self.alive = tuple(t.configuration for t in rivals[:half])
        self.samples *= 2


def _is_above(other: Interval, best: Interval) -> bool:
    """Whether the one is slower for sure: the intervals of a few samples are no proof."""
    sure = min(other.confidence, best.confidence) >= CONFIDENCE
    return sure and other.low > best.high
