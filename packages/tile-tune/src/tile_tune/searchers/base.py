"""What a search strategy is: ask for a round, tell the outcome, until there is no further round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.configuration import Configuration
    from tile_tune.trial import Trial

__all__ = ["SAMPLES", "Round", "Searcher", "best_first"]

SAMPLES = 9
"""Timings of a candidate in one round, where the strategy does not choose: the least number whose
interval of the median leaves out the two extremes at 95%."""


@dataclass(frozen=True, slots=True)
class Round:
    """Candidates to try together, and how many timings each gets. Candidates may return in a later
    round: their timings add up."""

    configurations: tuple[Configuration, ...]
    samples: int = SAMPLES


class Searcher(Protocol):
    """A strategy for one space; made by a manifest's `factory(space, seed)`."""

    def ask(self, remaining: int) -> Round | None:
        """The next round, of at most `remaining` candidates that were not tried yet; None at the
        end."""

    def tell(self, trials: Sequence[Trial]) -> None:
        """What became of the candidates of the last round, with all their timings so far."""


def best_first(trials: Sequence[Trial]) -> list[Trial]:
    """The measured ones, fastest first."""
    return sorted((t for t in trials if t.is_measured), key=lambda t: t.median)
