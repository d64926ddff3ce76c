"""Every member of the space, in its order: for small spaces, and as the yardstick of the others."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tile_tune.searchers.base import Round

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tile_tune.configuration import Configuration
    from tile_tune.space import Space
    from tile_tune.trial import Trial

__all__ = ["Exhaustive"]

TOGETHER = 32


class Exhaustive:
    """Walks the space in rounds of 32, as far as the number of trials goes."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self._left: Iterator[Configuration] = iter(space)

    def ask(self, remaining: int) -> Round | None:
        found = tuple(islice(self._left, min(TOGETHER, remaining)))
        return Round(found) if found else None

    def tell(self, trials: Sequence[Trial]) -> None:
        """Nothing that is told changes the walk."""
