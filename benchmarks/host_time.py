"""Host time of calls: short ones by the hundred, taken in turns so that drift hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

ROUNDS = 25
QUEUED = 200
"""Launches between two synchronizations: fewer than a driver queues without waiting."""


def microseconds(
    calls: Mapping[str, Callable[[], object]],
    idle: Callable[[], object] | None = None,
    count: int = QUEUED,
) -> dict[str, float]:
    """Median host time of a call of each, `count` of them back to back; `idle` waits for the device
    before each turn."""
    wait = idle or (lambda: None)
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for f in calls.values():
        f()
    for _ in range(ROUNDS):
        for name, f in calls.items():
            wait()
            start = time.perf_counter()
            for _ in range(count):
                f()
            samples[name].append((time.perf_counter() - start) / count * 1e6)
    wait()
    return {name: statistics.median(times) for name, times in samples.items()}
