"""One core in simulation: engines that serve in order of arrival, channels, and agents that wait
for them.

An agent is a group of threads on its way through its role's program, written as a generator. It
runs until it has to let others come first (it yields None) or waits for something that has not
happened (it yields what it waits for). The agent that is furthest behind in time goes first, so
engines see requests in the order of their times. These are the rules by which the planner times a
loop's schedules.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile_ir.diag import Span as Place

__all__ = ["Agent", "Core", "Event", "Ring", "Running", "Span"]

Running = Generator["Event | None", None, None]


@dataclass(frozen=True, slots=True)
class Span:
    """What a lane of the timeline does from `start` to `end`, in cycles.

    `kind` is `work`, `wait` (for data, a slot, others), `settle` (for own work in flight) or the
    name of an engine; `place` is where the user wrote it.
    """

    lane: str
    label: str
    kind: str
    start: float
    end: float
    place: Place | None = None


@dataclass(slots=True, eq=False)
class Event:
    """Something that happens once, at a time that is known when it does."""

    time: float | None = None
    waiting: list[Agent] = field(default_factory=list)


@dataclass(slots=True)
class Ring:
    """A channel's state. A slot is filled when all `producers` have committed it, and free again
    when all `consumers` have released it."""

    depth: int
    producers: int
    consumers: int
    filled: defaultdict[int, Event] = field(default_factory=lambda: defaultdict(Event))
    freed: defaultdict[int, Event] = field(default_factory=lambda: defaultdict(Event))
    arrived: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    """Number of a filling -> when the last of what was issued into it has come."""
    counts: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))


@dataclass(slots=True, eq=False)
class Agent:
    """A group of threads: its time, its program, and its own ends of channels."""

    lane: str
    now: float
    run: Running | None = None
    share: float = 1.0
    """Its part of the block's work."""
    cursors: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    flying: list[tuple[str, float, float]] = field(default_factory=list)
    """Operations in flight by engine: when sources are read, and when results are there."""
    groups: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    ready: dict[str, float] = field(default_factory=dict)
    """Buffer -> when what was loaded into it has come."""


class Core:
    """Engines, agents and the record of one core."""

    def __init__(self) -> None:
        self.free: defaultdict[str, float] = defaultdict(float)
        self.busy: defaultdict[str, float] = defaultdict(float)
        self.waited: defaultdict[str, float] = defaultdict(float)
        """Cycles that groups of threads waited, by what for."""
        self.spans: list[Span] = []
        self.recorded: set[str] = set()
        """Lanes that are kept."""
        self.end = 0.0
        self._queue: list[tuple[float, int, Agent]] = []
        self._order = count()

    def start(self, agent: Agent) -> None:
        """Let an agent run from its time on."""
        heapq.heappush(self._queue, (agent.now, next(self._order), agent))

    def run(self, most: int) -> bool:
        """Run all agents; False where some still wait for what nobody does, or `most` steps did
        not suffice."""
        waiting: set[Agent] = set()
        for _ in range(most):
            if not self._queue:
                return not waiting
            agent = heapq.heappop(self._queue)[2]
            waiting.discard(agent)
            assert agent.run is not None  # set before it is started
            try:
                event = next(agent.run)
            except StopIteration:
                self.end = max(self.end, agent.now)
                continue
            if event is None or event.time is not None:
                self.start(agent)
            else:
                event.waiting.append(agent)
                waiting.add(agent)
        return False

    def happens(self, event: Event, time: float) -> None:
        """An event takes place; who waited goes on."""
        event.time = time
        for agent in event.waiting:
            self.start(agent)
        event.waiting.clear()

    def serve(self, engine: str, at: float, cycles: float) -> tuple[float, float]:
        """Let an engine work for someone who comes at a time; from when to when it does."""
        start = max(self.free[engine], at)
        self.free[engine] = start + cycles
        self.busy[engine] += cycles
        self.end = max(self.end, start + cycles)
        return start, start + cycles

    def waits(
        self, agent: Agent, why: str, since: float, place: Place | None, kind: str = "wait"
    ) -> None:
        """Note that an agent waited from a time until now."""
        if agent.now > since:
            self.waited[why] += agent.now - since
            self.note(Span(agent.lane, why, kind, since, agent.now, place))

    def note(self, span: Span) -> None:
        """Keep a span of a lane that is recorded."""
        if span.lane in self.recorded and span.end > span.start:
            self.spans.append(span)


def wait_for(core: Core, agent: Agent, event: Event, why: str, place: Place | None) -> Running:
    """Wait for an event; the time goes to `why`."""
    since = agent.now
    while event.time is None:
        yield event
    agent.now = max(agent.now, event.time)
    core.waits(agent, why, since, place)
