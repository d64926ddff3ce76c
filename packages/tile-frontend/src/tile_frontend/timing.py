"""How long calls take: by the host's clock, or by events on the stream of an accelerator.

A launch on an accelerator returns before the work is done, so only the device can tell. Between two
measured calls its cache is overwritten: a kernel in a program seldom finds its inputs there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from tile_frontend.adapters import adapter_for, adapter_on

__all__ = ["device_of", "durations"]

CACHE_BYTES = 256 << 20
"""More than any accelerator's last-level cache holds."""

Timer = Callable[[Callable[[], Any]], float]
"""Calls a function and gives the milliseconds that it took."""


def durations(
    fn: Callable[[], Any], budget_ms: float, count: int, device: str = "cpu"
) -> list[float]:
    """Call `fn` `count` times, or for `budget_ms` by the host's clock; at least once. Gives the
    milliseconds of each call on the kind of device that it works on."""
    timer = _on_host if device == "cpu" else _timer_on(device)
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


def _timer_on(device: str) -> Timer:
    """Events of the library that has memory there. Raises `TileError` E2017 when none has."""
    library = adapter_on(device).library
    module = sys.modules[library]
    if library == "torch":
        return _torch_timer(module, device)
    return _cupy_timer(module, device)


def _torch_timer(torch: Any, device: str) -> Timer:
    cache = torch.empty(CACHE_BYTES, dtype=torch.int8, device=device)
    start, end = (torch.Event(device, enable_timing=True) for _ in range(2))

    def timer(fn: Callable[[], Any]) -> float:
        cache.zero_()
        start.record()
        fn()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))

    return timer


def _cupy_timer(cupy: Any, device: str) -> Timer:
    runtime = getattr(cupy, device)
    cache = cupy.empty(CACHE_BYTES, "i1")
    start, end = runtime.Event(), runtime.Event()

    def timer(fn: Callable[[], Any]) -> float:
        cache.fill(0)
        start.record()
        fn()
        end.record()
        end.synchronize()
        return float(runtime.get_elapsed_time(start, end))

    return timer
