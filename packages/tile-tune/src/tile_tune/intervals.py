"""What a handful of timings tell: medians, how sure they are, and which are not distinguishable.

Times of a kernel are not normal: they have a floor and a tail. So nothing here assumes a
distribution. The interval of a median comes from order statistics: the k-th smallest of n samples
lies below the median with a probability that is a binomial sum (D. Hogg, Probability and
Statistical Inference, section on distribution-free intervals for percentiles).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONFIDENCE", "Interval", "interval", "ratio_interval"]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A median, and the bounds between which the true one lies with probability `confidence`."""

    median: float
    low: float
    high: float
    confidence: float

    def overlaps(self, other: Interval) -> bool:
        """Whether the two have a value in common."""
        return self.low <= other.high and other.low <= self.high


def interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median of some samples (at least one) with its interval.

    Fewer than six samples cannot give 95%; then the interval is their range, and `confidence` says
    what that gives.
    """
    ordered = sorted(samples)
    n = len(ordered)
    cut = 0
    while 2 * (cut + 1) < n and _inside(n, cut + 1) >= confidence:
        cut += 1
    return Interval(median(ordered), ordered[cut], ordered[n - 1 - cut], _inside(n, cut))


def ratio_interval(
    ours: Sequence[float], theirs: Sequence[float], confidence: float = CONFIDENCE
) -> Interval:
    """The median of `ours[i] / theirs[i]` for samples that were taken in turns: what disturbed the
    machine in one turn disturbed both, and cancels. The two are not distinguishable when 1 lies
    inside."""
    pairs = zip(ours, theirs, strict=False)
    return interval([a / b for a, b in pairs], confidence)


def _inside(n: int, cut: int) -> float:
    """The probability that the median lies between the samples of rank `cut` and n - 1 - `cut`."""
    return 1.0 - 2 * sum(comb(n, i) for i in range(cut + 1)) / float(2**n)
