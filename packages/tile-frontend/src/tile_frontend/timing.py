"""How long calls take: by the host's clock, by events on the stream of an accelerator, or as a
graph that is replayed.

A launch on an accelerator returns before the work is done, so only the device can tell. Between two
measured calls its cache is overwritten: a kernel in a program seldom finds its inputs there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from tile_frontend.adapters import adapter_for, adapter_on
from tile_ir.diag import TileError

__all__ = ["TIMERS", "device_of", "durations"]

CACHE_BYTES = 256 << 20
"""More than any accelerator's last-level cache holds."""
GRAPH_CALLS = 20
"""Calls in one graph: enough that its own launch does not count."""

Timer = Callable[[Callable[[], Any]], float]
"""Calls a function and gives the milliseconds that it took."""


def durations(
    fn: Callable[[], Any],
    budget_ms: float,
    count: int,
    device: str = "cpu",
    backend: str = "event",
    flush: bool = True,
) -> list[float]:
    """Call `fn` `count` times, or for `budget_ms` by the host's clock; at least once. Gives the
    milliseconds of each call on the kind of device that it works on, in one of the ways of
    `TIMERS`."""
    timer = _on_host if device == "cpu" else TIMERS[backend](device, flush)
    times: list[float] = []
    end = perf_counter() + budget_ms / 1e3
    while True:
        times.append(timer(fn))
        if (count and len(times) >= count) or (not count and perf_counter() >= end):
            return times


def device_of(results: Any) -> str:
    """The kind of device that has the results of a call; the host for what is no array."""
    first = results[0] if isinstance(results, (list, tuple)) and results else results
    adapter = adapter_for(first)
    return "cpu" if adapter is None else adapter.inspect(first).device


def _on_host(fn: Callable[[], Any]) -> float:
    start = perf_counter()
    fn()
    return (perf_counter() - start) * 1e3


class _Device:
    """What timers need of the library that has memory on a device."""

    def __init__(self, device: str, flush: bool) -> None:
        self.library = adapter_on(device).library
        self.module = sys.modules[self.library]
        self.device = device
        self.cache: Any = None
        if flush and self.library == "torch":
            self.cache = self.module.empty(CACHE_BYTES, dtype=self.module.int8, device=device)
        elif flush:
            self.cache = self.module.empty(CACHE_BYTES, "i1")

    def flush(self) -> None:
        """Overwrite the last cache."""
        if self.cache is not None:
            self.cache.fill_(0) if self.library == "torch" else self.cache.fill(0)

    @property
    def runtime(self) -> Any:
        """The library's module for this kind of device."""
        if self.library == "torch":
            return self.module.get_device_module(self.device)
        return getattr(self.module, self.device)

    def events(self) -> tuple[Any, Any]:
        """Two events that can be timed."""
        if self.library == "torch":
            make = self.module.Event
            return make(self.device, enable_timing=True), make(self.device, enable_timing=True)
        return self.runtime.Event(), self.runtime.Event()

    def elapsed(self, start: Any, end: Any) -> float:
        """Milliseconds between two events."""
        end.synchronize()
        if self.library == "torch":
            return float(start.elapsed_time(end))
        return float(self.runtime.get_elapsed_time(start, end))

    def synchronize(self) -> None:
        """Wait until the device is idle."""
        if self.library == "torch":
            self.runtime.synchronize()
        else:
            self.runtime.Device().synchronize()


def _by_events(device: str, flush: bool) -> Timer:
    """Raises `TileError` E2017 where no array library has memory there."""
    on = _Device(device, flush)
    start, end = on.events()

    def timer(fn: Callable[[], Any]) -> float:
        on.flush()
        start.record()
        fn()
        end.record()
        return on.elapsed(start, end)

    return timer


def _by_wall(device: str, flush: bool) -> Timer:
    on = _Device(device, flush)

    def timer(fn: Callable[[], Any]) -> float:
        on.flush()
        on.synchronize()
        begin = perf_counter()
        fn()
        on.synchronize()
        return (perf_counter() - begin) * 1e3

    return timer


def _by_graph(device: str, flush: bool) -> Timer:
    """Raises `TileError` E1503 where the library records no graphs."""
    on = _Device(device, flush)
    make = next((n for n in sorted(vars(on.runtime)) if n.endswith("Graph") and n[0] != "_"), None)
    if on.library != "torch" or make is None:
        raise TileError(
            "E1503",
            f'backend="graph" needs a torch that records graphs on {device}',
            help='import torch, or use backend="event"',
        )
    graphs: dict[int, tuple[Callable[[], Any], Any]] = {}
    start, end = on.events()

    def timer(fn: Callable[[], Any]) -> float:
        if id(fn) not in graphs:
            fn()
            on.synchronize()
            graph = getattr(on.runtime, make)()
            with on.runtime.graph(graph):
                for _ in range(GRAPH_CALLS):
                    fn()
            graphs[id(fn)] = (fn, graph)  # holding the function keeps its identity its own
        on.flush()
        start.record()
        graphs[id(fn)][1].replay()
        end.record()
        return on.elapsed(start, end) / GRAPH_CALLS

    return timer


TIMERS: dict[str, Callable[[str, bool], Timer]] = {
    "event": _by_events,
    "graph": _by_graph,
    "wall": _by_wall,
}
"""The ways to time a call on an accelerator."""
