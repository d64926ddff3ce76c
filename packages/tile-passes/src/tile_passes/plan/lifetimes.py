"""Count the registers that the tiles of a pipelined loop take in one thread under a schedule.

A tile that every iteration fills anew lives from its first writer to its last reader; an
asynchronous product holds its result, and an operand in registers, until it has settled. What a
stage moves into the next iteration lives beside that iteration's own tile of the name, so the
overlap that a schedule wins is paid for in registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tile_passes.plan.schedule import Problem, Schedule

_TRIPS = 3
"""After so many iterations what is in flight repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A tile in registers: how many a thread has of it, and the nodes that touch it."""

    registers: int
    nodes: tuple[int, ...]
    fresh: bool
    """Whether each iteration fills it before anything reads it; else it lives all along."""


def registers_alive(problem: Problem, schedule: Schedule, tiles: Sequence[Held]) -> int:
    """The most registers of one thread that tiles take at any statement of the steady body.

    At an elementwise statement the tiles that end there and those that begin there share registers,
    element by element.
    """
    period = len(schedule.order)
    at = {node: n for n, node in enumerate(schedule.order)}
    settled = _settle_delays(problem, schedule)
    most = 0
    spans = [(_span(problem, schedule, t, at, settled), t) for t in tiles if t.nodes and t.fresh]
    always = sum(t.registers for t in tiles if not t.fresh)
    for place, node in enumerate(schedule.order):
        through = ending = starting = 0
        for (first, last), tile in spans:
            for trip in range((last - place) // period + 1):
                time = place + trip * period
                if not first <= time <= last:
                    continue
                shares = not problem.nodes[node].asynchronous and first < last
                if shares and time == last:
                    ending += tile.registers
                elif shares and time == first:
                    starting += tile.registers
                else:
                    through += tile.registers
        most = max(most, always + through + max(ending, starting))
    return most


def _span(
    problem: Problem,
    schedule: Schedule,
    tile: Held,
    at: Mapping[int, int],
    settled: Mapping[int, int],
) -> tuple[int, int]:
    """The first and last statement, over iterations, at which one iteration's tile lives."""
    period = len(schedule.order)
    times = {k: schedule.stage[k] * period + at[k] for k in tile.nodes}
    return min(times.values()), max(t + settled.get(k, 0) for k, t in times.items())


def _settle_delays(problem: Problem, schedule: Schedule) -> dict[int, int]:
    """How many statements after its issue each asynchronous product has settled."""
    flying: list[tuple[int, int]] = []
    found: dict[int, int] = {}
    for time, node in enumerate(schedule.order * _TRIPS):
        hit = [k for k, (g, _) in enumerate(flying) if node in problem.conflicts.get(g, ())]
        if hit:
            found.update((g, time - since) for g, since in flying[: hit[-1] + 1])
            del flying[: hit[-1] + 1]
        if problem.nodes[node].asynchronous:
            flying.append((node, time))
    return found
