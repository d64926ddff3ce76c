"""Model-guided search: a Gaussian process on the logarithm of time chooses where to look next.

Times of tiles multiply (half the reuse, twice the traffic), so their logarithm is what a smooth
model fits. Candidates are ranked by expected improvement (J. Mockus, 1975): how much faster than
the best the model thinks one may be, weighed with how sure it is. The kernel is a Matern 5/2 over
the space's features; its length and the noise are those, of a small grid, under which the seen
times are most likely (C. Rasmussen and C. Williams, Gaussian Processes for Machine Learning,
sections 2.2 and 5.4).
"""

from __future__ import annotations

import random
from math import erf, exp, log, pi, sqrt
from typing import TYPE_CHECKING, Any

from tile_tune.searchers.base import Round

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_tune.configuration import Configuration
    from tile_tune.space import Space
    from tile_tune.trial import Trial

__all__ = ["Guided"]

FIRST = 12
TOGETHER = 6
SAMPLES = 5
LENGTHS = (0.15, 0.3, 0.6, 1.2, 2.4)
NOISES = (1e-4, 1e-3, 1e-2)
"""Variance of the noise, as a part of the variance of the log times."""
POOL = 1500
"""Of a large space, so many members are ranked each time."""
WORTH = 0.004
"""An expected improvement below 0.4% is not worth a trial."""
PATIENCE = 2
"""Rounds without a better candidate after which such an improvement ends the search."""
FAILED_COST = log(4.0)
"""What a failed candidate counts as: four times the slowest that was seen so far."""


class Guided:
    """Twelve members far apart, then six at a time where a better one is most likely."""

    def __init__(self, space: Space, seed: int = 0) -> None:
        self.space = space
        self.rng = random.Random(seed)
        self.seen: dict[Configuration, float | None] = {}
        self.idle = 0
        self.best = float("inf")

    def ask(self, remaining: int) -> Round | None:
        if not self.seen:
            fresh = self._spread(min(FIRST, remaining))
        else:
            fresh = self._likely(min(TOGETHER, remaining))
        self.seen.update(dict.fromkeys(fresh))
        return Round(tuple(fresh), SAMPLES) if fresh else None

    def tell(self, trials: Sequence[Trial]) -> None:
        for t in trials:
            self.seen[t.configuration] = log(t.median) if t.is_measured and t.median > 0 else None
        best = min((y for y in self.seen.values() if y is not None), default=float("inf"))
        self.idle = 0 if best < self.best - WORTH else self.idle + 1
        self.best = min(self.best, best)

    def _spread(self, count: int) -> list[Configuration]:
        """The first member (the user's default, mostly), then each far from those before."""
        pool = self._pool()
        chosen = [self.space.first()]
        spots = {c: self.space.features(c) for c in pool}
        near = {c: float("inf") for c in pool}
        while len(chosen) < min(count, len({*pool, *chosen})):
            last = self.space.features(chosen[-1])
            for c in pool:
                near[c] = min(near[c], _square_distance(spots[c], last))
            chosen.append(max((c for c in pool if c not in chosen), key=lambda c: near[c]))
        return chosen

    def _pool(self) -> list[Configuration]:
        return self.space.sample(self.rng, POOL)

    def _likely(self, count: int) -> list[Configuration]:
        """The unseen members with the largest expected improvement, apart from each other."""
        pool = [c for c in self._pool() if c not in self.seen]
        known = [(self.space.features(c), y) for c, y in self.seen.items()]
        times = [y for _, y in known if y is not None]
        if not pool or count < 1:
            return []
        if len(times) < 3:
            return pool[:count]
        worst = max(times) + FAILED_COST
        spots = [x for x, _ in known]
        values = [worst if y is None else y for _, y in known]
        chosen: list[Configuration] = []
        for _ in range(count):
            means, deviations = _predicted(spots, values, [self.space.features(c) for c in pool])
            guesses = zip(means, deviations, strict=True)
            gains = [_improvement(min(times), m, s) for m, s in guesses]
            at = max(range(len(pool)), key=gains.__getitem__)
            if gains[at] < WORTH and self.idle >= PATIENCE:
                break
            # Taken as if it had the predicted time: the next one is then chosen elsewhere.
            spots.append(self.space.features(pool[at]))
            values.append(means[at])
            chosen.append(pool.pop(at))
            if not pool:
                break
        return chosen


def _square_distance(a: Sequence[float], b: Sequence[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _improvement(best: float, mean: float, deviation: float) -> float:
    if deviation <= 0:
        return max(0.0, best - mean)
    z = (best - mean) / deviation
    density = exp(-z * z / 2) / sqrt(2 * pi)
    below = (1 + erf(z / sqrt(2))) / 2
    return (best - mean) * below + deviation * density


def _predicted(
    spots: list[list[float]], values: list[float], asked: list[list[float]]
) -> tuple[list[float], list[float]]:
    """Mean and standard deviation at the asked places, after the seen values."""
    import numpy as np  # only this strategy computes

    x, y, q = np.array(spots), np.array(values), np.array(asked)
    mean, scale = y.mean(), max(float(y.std()), 1e-6)
    z = (y - mean) / scale
    length, noise = max(
        ((a, b) for a in LENGTHS for b in NOISES), key=lambda p: _likelihood(np, x, z, *p)
    )
    factor = np.linalg.cholesky(_matern(np, x, x, length) + noise * np.eye(len(x)))
    across = _matern(np, q, x, length)
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, z))
    half = np.linalg.solve(factor, across.T)
    variance = np.maximum(1 - (half**2).sum(0), 1e-12)
    return (across @ weights * scale + mean).tolist(), (np.sqrt(variance) * scale).tolist()


def _likelihood(np: Any, x: Any, z: Any, length: float, noise: float) -> float:
    """The logarithm of how likely the values are, up to a constant."""
    try:
        factor = np.linalg.cholesky(_matern(np, x, x, length) + noise * np.eye(len(x)))
    except np.linalg.LinAlgError:
        return float("-inf")
    half = np.linalg.solve(factor, z)
    return float(-(half @ half) / 2 - np.log(np.diag(factor)).sum())


def _matern(np: Any, a: Any, b: Any, length: float) -> Any:
    squares = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
    r = np.sqrt(5 * squares) / length
    return (1 + r + r**2 / 3) * np.exp(-r)
