"""Members at random, without repetition: what a cleverer strategy has to beat."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tile_tune.searchers.base import Round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.configuration import Configuration
    from tile_tune.space import Space
    from tile_tune.trial import Trial

__all__ = ["Sampled"]

TOGETHER = 16


class Sampled:
    """Rounds of 16 random members until the trials or the space are used up."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.seen: set[Configuration] = set()

    def ask(self, remaining: int) -> Round | None:
        # As many more as were seen: enough to find new ones, unless there are none.
        drawn = self.space.sample(self.rng, TOGETHER + len(self.seen))
        fresh = [c for c in drawn if c not in self.seen][: min(TOGETHER, remaining)]
        self.seen.update(fresh)
        return Round(tuple(fresh)) if fresh else None

    def tell(self, trials: Sequence[Trial]) -> None:
        """Nothing that is told changes the draw."""
