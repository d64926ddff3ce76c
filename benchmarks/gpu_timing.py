"""Timing on a GPU with a cold L2, taken in turns: single calls between events, or, for calls that
are shorter than what an event costs, graphs of many calls.

A single call is queued behind a wait of the device, so the host's time to launch it does not count;
what a caller waits for on the host is another benchmark. Between events a call takes some
microseconds more than it does in a program, which is why short ones are replayed as a graph: its
calls go round copies of the inputs that are larger together than any L2.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FLUSH_BYTES = 256 << 20
"""Written before each single call, and read between two uses of one input of a graph: more than any
L2, so that no input is left there."""

WARM_UP = 2
SHORT_MS = 0.1
"""Calls below this are timed in graphs."""
GRAPH_CALLS = 24
EVENTS, GRAPH = "events", "graph"
"""How a time was taken."""
REPLAYS = 9


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


def times_ms(
    run: Mapping[str, Callable[[int], object]],
    copies: int,
    budget_ms: float = 250,
    graphs: bool = False,
) -> tuple[dict[str, float], str]:
    """Median milliseconds of each function of the number of a copy of the inputs, and how they were
    taken: GRAPH where the quickest is short or `graphs` are asked for, else EVENTS. What no graph
    takes is left out."""
    single = {name: (lambda f=f: f(0)) for name, f in run.items()}  # type: ignore[misc]
    first = medians_ms(list(single.values()), rounds=5, budget_ms=0)
    if min(first) >= SHORT_MS and not graphs:
        found = medians_ms(list(single.values()), budget_ms=budget_ms)
        return dict(zip(run, found, strict=True)), EVENTS
    made = {name: graph for name, f in run.items() if (graph := _graph(name, f, copies))}
    return _replayed(made, max(GRAPH_CALLS, copies)), GRAPH


def _graph(name: str, call: Callable[[int], object], copies: int) -> Any:
    """A graph of calls that go round the copies, or None where the call cannot be captured."""
    import torch

    try:
        for i in range(copies):
            call(i)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for i in range(max(GRAPH_CALLS, copies)):
                call(i % copies)
    except Exception as error:  # a peer may synchronize, or allocate where it must not
        print(f"  {name} is not captured: {str(error)[:120]}", flush=True)
        torch.cuda.synchronize()
        return None
    return graph


def _replayed(graphs: Mapping[str, Any], calls: int) -> dict[str, float]:
    import torch

    samples: dict[str, list[float]] = {name: [] for name in graphs}
    for i in range(REPLAYS + 1):
        names = list(graphs) if i % 2 == 0 else list(reversed(graphs))
        for name in names:
            start, end = _pair(torch)
            start.record()
            graphs[name].replay()
            end.record()
            end.synchronize()
            if i:  # the first replay also uploads the graph
                samples[name].append(start.elapsed_time(end) / calls)
    return {name: statistics.median(s) for name, s in samples.items()}


def _pair(torch: Any) -> tuple[Any, Any]:
    return tuple(torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[return-value]
