"""Evolution: the better half has children, by crossing two parents and by steps along an axis."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from tile_tune.configuration import Configuration
from tile_tune.searchers.base import Round, best_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.space import Space
    from tile_tune.trial import Trial

__all__ = ["Evolutionary"]

POPULATION = 16
CHILDREN = 8
CROSSED = 0.5
"""The share of children with two parents."""
TRIES = 40
"""Draws for each child that is wanted; near the end of a space most were seen before."""
PATIENCE = 3
"""Generations without a new best before the search ends."""


class Evolutionary:
    """A population of 16 that keeps its best; ends when three generations bring nothing."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.seen: set[Configuration] = set()
        self.alive: list[Trial] = []
        self.idle = 0

    def ask(self, remaining: int) -> Round | None:
        if not self.seen:
            fresh = self.space.sample(self.rng, min(POPULATION, remaining))
        elif self.idle >= PATIENCE:
            return None
        else:
            fresh = self._children(min(CHILDREN, remaining))
        self.seen.update(fresh)
        return Round(tuple(fresh)) if fresh else None

    def tell(self, trials: Sequence[Trial]) -> None:
        before = self.alive[0].configuration if self.alive else None
        self.alive = best_first([*self.alive, *trials])[:POPULATION]
        is_new = bool(self.alive) and self.alive[0].configuration != before
        self.idle = 0 if is_new else self.idle + 1

    def _children(self, count: int) -> list[Configuration]:
        found: dict[Configuration, None] = {}
        for _ in range(TRIES * count):
            if len(found) == count:
                break
            child = self._child()
            if child is not None and child not in self.seen:
                found[child] = None
        return list(found)

    def _child(self) -> Configuration | None:
        if len(self.alive) < 2:
            drawn = self.space.sample(self.rng, 1)
            return drawn[0] if drawn else None
        mother, father = (self._parent().configuration for _ in range(2))
        if self.rng.random() < CROSSED and self.space.listed is None:
            return self._crossed(mother, father)
        near = self.space.neighbours(mother)
        return self.rng.choice(near) if near else None

    def _parent(self) -> Trial:
        """The faster of two at random."""
        return min(self.rng.sample(self.alive, 2), key=lambda t: t.median)

    def _crossed(self, mother: Configuration, father: Configuration) -> Configuration | None:
        parameters = self._mixed(dict(mother.parameters), dict(father.parameters))
        pins = self._mixed(dict(mother.pins), dict(father.pins))
        made = Configuration.of(parameters, pins)
        return made if self.space.allows(made) else None

    def _mixed(self, a: dict[str, object], b: dict[str, object]) -> dict[str, object]:
        sides = {name: self.rng.choice((a, b)) for name in sorted({*a, *b})}
        return {name: side[name] for name, side in sides.items() if name in side}
