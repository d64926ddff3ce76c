"""The parts of a prediction: what each unit of the machine is busy with, what is lost, and which of
them decides."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from tile_passes.model.prediction import Term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.target.spec import Rates
    from tile_passes.model.machine import Core
    from tile_passes.model.traffic import Traffic

__all__ = ["bound_of", "terms_of"]

NEAR = 0.7
"""A unit that is busy for this part of the time bounds the kernel; else latency does."""


def terms_of(
    core: Core, moved: Traffic, rates: Rates, taken: tuple[float, float], waves: float
) -> tuple[Term, ...]:
    """The terms of a launch; `taken` has its seconds and those of them before its first block and
    after its last one. The parts of time in which the simulated core's units were busy stand for
    the whole launch."""
    seconds, launch = taken
    running = max(seconds - launch, 0.0)
    per_cycle = running / max(core.end, 1.0)
    clock = rates.clock_hz or 1e9
    busy = {unit: core.busy[unit] * per_cycle for unit in ("matrix", "vector", "shared")}
    cache = (moved.loads + moved.stores) / (rates.cache_bytes * rates.cores * clock or 1e30)
    device = moved.device / (rates.device_bytes * clock or 1e30)
    units = (
        Term(name="matrix units", seconds=busy["matrix"], detail=_amount(moved.flops, "op")),
        Term(name="vector units", seconds=busy["vector"], detail="arithmetic and its issue"),
        Term(name="shared memory", seconds=busy["shared"], detail="with counted bank conflicts"),
        Term(name="shared cache", seconds=cache, detail=_amount(moved.loads + moved.stores, "B")),
        Term(name="device memory", seconds=device, detail=_amount(moved.device, "B")),
    )
    longest = max(t.seconds for t in units)
    whole = ceil(waves - 1e-9)
    losses = (
        Term(
            name="exposed latency",
            seconds=max(0.0, running - longest),
            detail="time in which no unit is the reason",
            is_loss=True,
        ),
        Term(
            name="last wave",
            seconds=running * (1.0 - waves / whole) if whole else 0.0,
            detail=f"{waves:.2f} waves take the time of {whole}",
            is_loss=True,
        ),
        Term(
            name="launch",
            seconds=launch,
            detail="until the first block runs, and after the last one",
            is_loss=True,
        ),
    )
    return (*units, *losses)


def _amount(count: float, of: str) -> str:
    """A number with a decimal prefix, three digits."""
    for size, word in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if count >= size:
            return f"{count / size:.3g} {word}{of}"
    return f"{count:,.0f} {of}"


def bound_of(
    terms: tuple[Term, ...], seconds: float, waits: Mapping[str, float]
) -> tuple[str, str]:
    """The term that decides, and why in a few words."""
    unit = max((t for t in terms if not t.is_loss), key=lambda t: t.seconds)
    part = unit.seconds / seconds if seconds else 0.0
    launch = next(t for t in terms if t.name == "launch")
    if launch.seconds > seconds / 2:
        return "launch", "the launch itself takes more than half of the time"
    if part >= NEAR:
        return unit.name, f"busy for {part:.0%} of the time"
    why = next(iter(waits), "")
    longest = f"; groups wait most for: {why}" if why else ""
    return "latency", f"the busiest unit, {unit.name}, works for {part:.0%} of the time{longest}"
