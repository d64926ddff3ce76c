"""Timing on a GPU: single calls between events, taken in turns, with a cold L2.

A call is queued behind a wait of the device, so the host's time to launch it does not count; what a
caller waits for on the host is another benchmark.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

FLUSH_BYTES = 256 << 20
"""Written before each call: more than any L2, so that no input is left there."""

WARM_UP = 2


def medians_ms(
    run: Sequence[Callable[[], object]], rounds: int = 15, budget_ms: float = 400
) -> list[float]:
    """Median milliseconds of each callable; the order alternates between rounds.

    At least 5 rounds run, then until `rounds` or until the calls themselves took `budget_ms`.
    """
    import torch

    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    for f in run:
        for _ in range(WARM_UP):
            f()
    torch.cuda.synchronize()
    samples: list[list[float]] = [[] for _ in run]
    spent = 0.0
    for i in range(rounds):
        order = list(range(len(run))) if i % 2 == 0 else list(reversed(range(len(run))))
        events = [_pair(torch) for _ in run]
        for j in order:
            flush.zero_()
            torch.cuda._sleep(200_000)  # about 0.1 ms, in which the host queues the call
            events[j][0].record()
            run[j]()
            events[j][1].record()
        torch.cuda.synchronize()
        for j, (start, end) in enumerate(events):
            samples[j].append(start.elapsed_time(end))
        spent += sum(s[-1] for s in samples)
        if i >= 4 and spent > budget_ms:
            break
    return [statistics.median(s) for s in samples]


def _pair(torch: Any) -> tuple[Any, Any]:
    return tuple(torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[return-value]
