"""One agent's way through its role's program, statement by statement.

A statement takes its turn on the engines it needs. Loads are asynchronous until something reads
what they bring; asynchronous products and copies are until their group settles or their channel's
slot is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import (
    Acquire,
    Alloc,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    Channel,
    Claim,
    Combine,
    Commit,
    For,
    Group,
    If,
    Issue,
    Let,
    Reduce,
    Release,
    Role,
    Settle,
    SettleCount,
    Store,
    Sync,
    Tiles,
    View,
    Wait,
    While,
)
from tile_ir.rewrite import walk
from tile_ir.text import print_stmt
from tile_passes.model.hand import awaited
from tile_passes.model.machine import Event, Span, wait_for
from tile_passes.model.program import UNKNOWN_TRIPS, set_tile, trips_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.opdef import Body, Stmt
    from tile_passes.model.blocks import Block
    from tile_passes.model.machine import Agent, Ring, Running
    from tile_passes.model.values import Values
    from tile_passes.model.work import Work

__all__ = ["Walk"]

ISSUE = 8.0
"""Cycles that a group is busy with starting an asynchronous operation."""
SHUFFLE = 24.0
"""Cycles of one exchange between the lanes of a warp."""
STEP = 12.0
"""Cycles from a vector statement's last instruction to its result."""
MOST_PLAIN = 16
"""Trips of a loop without channels or asynchronous work that are run one by one; more of them are
run as that many, longer ones."""
_PROTOCOL = (
    BarrierWait,
    BarrierArrive,
    Acquire,
    Commit,
    Wait,
    Release,
    Issue,
    Group,
    Settle,
    SettleCount,
)
_SILENT = (Alloc, View, Channel, Role, Barriers)


class Walk:
    """One agent's way through its program."""

    def __init__(self, block: Block, agent: Agent, role: str, group: int, values: Values) -> None:
        self.block, self.agent, self.group, self.values = block, agent, group, values
        self.role = role
        self.core, self.program = block.core, block.program
        self.stored = 0.0
        """When the store that was issued last has read its source."""
        self.acts: dict[int, bool] = {}
        self.phases: dict[tuple[str, int], int] = {}
        """Barrier of the user's -> the phase that was awaited last."""

    def body(self, body: Body) -> Running:
        for stmt in body:
            step = _STEPS.get(type(stmt))
            if step is not None:
                yield from step(self, stmt)
            elif not isinstance(stmt, _SILENT):
                yield from self.plain(stmt)

    # -- control

    def tiles(self, stmt: Tiles) -> Running:
        for at, number in enumerate(self.block.tiles):
            set_tile(self.values, stmt, number)
            yield from self.body(stmt.body)
            ends = self.block.tile_ends
            ends[at] = max(ends.get(at, 0.0), self.agent.now)

    def loop(self, stmt: For) -> Running:
        trips, start, step = trips_of(stmt, self.values)
        longer = 1.0
        if trips > MOST_PLAIN and not self._protocol(stmt):
            longer, trips = trips / MOST_PLAIN, MOST_PLAIN
        share = self.agent.share
        self.agent.share = share * longer
        for i in range(trips):
            self.values.bound[stmt.var] = None if start is None else start + i * step
            yield from self.body(stmt.body)
        self.agent.share = share

    def _protocol(self, stmt: Stmt) -> bool:
        if id(stmt) not in self.acts:
            self.acts[id(stmt)] = any(isinstance(s, _PROTOCOL) for s in walk((stmt,)))
        return self.acts[id(stmt)]

    def branch(self, stmt: If) -> Running:
        cond = self.values.of(stmt.cond)
        yield from self.body(stmt.then if cond is None or cond else stmt.orelse)

    def repeat(self, stmt: While) -> Running:
        for _ in range(UNKNOWN_TRIPS):
            yield from self.body(stmt.body)

    def let(self, stmt: Let) -> Running:
        self.values.bound[stmt.var] = self.values.of(stmt.value)
        yield from ()

    def store(self, stmt: Store) -> Running:
        if self.program.costs.scope(stmt.buffer) == "var" and not stmt.indices:
            self.values.scalars[stmt.buffer] = self.values.of(stmt.value)
            return
        yield from self.plain(stmt)

    def claim(self, stmt: Claim) -> Running:
        self.agent.now += ISSUE  # drawn ahead: nobody waits for its latency
        yield from ()

    # -- channels

    def acquire(self, stmt: Acquire) -> Running:
        ring, number = self._end(stmt.channel, "acquire")
        if number >= ring.depth:
            why = f"no free slot of {stmt.channel}"
            yield from self._wait(ring.freed[number - ring.depth], why, stmt)

    def commit(self, stmt: Commit) -> Running:
        ring, number = self._end(stmt.channel, "commit")
        ring.arrived[number] = max(ring.arrived[number], self.agent.now)
        ring.counts["commit", number] += 1
        if ring.counts["commit", number] == ring.producers:
            self.core.happens(ring.filled[number], ring.arrived[number])
        if self.program.channels[stmt.channel].consumer.kind == "engine":
            self.core.happens(ring.freed[number], max(self.stored, self.agent.now))
        yield from ()

    def wait(self, stmt: Wait) -> Running:
        ring, number = self._end(stmt.channel, "wait")
        yield from self._wait(ring.filled[number], f"{stmt.channel} not filled", stmt)

    def release(self, stmt: Release) -> Running:
        ring, number = self._end(stmt.channel, "release")
        ring.counts["release", number] += 1
        if ring.counts["release", number] == ring.consumers:
            self.core.happens(ring.freed[number], self.agent.now)
        yield from ()

    # -- barriers by hand

    def arrive(self, stmt: BarrierArrive | BarrierExpect) -> Running:
        yield None
        barrier = self.block.barrier(stmt.barrier, self.values.number(stmt.index, 0))
        if barrier is None:
            return
        if isinstance(stmt, BarrierExpect):
            barrier.announced += stmt.bytes
            if stmt.silent:
                return
        groups = self.block.groups.get(self.role, 1)
        count = 1.0 / groups if stmt.one else self.block.threads(self.role)
        barrier.arrive(self.core, count, self.agent.now)

    def await_phase(self, stmt: BarrierWait) -> Running:
        index = self.values.number(stmt.index, 0)
        barrier = self.block.barrier(stmt.barrier, index)
        if barrier is None:
            return
        key = (stmt.barrier, index)
        phase = self.phases[key] = awaited(self.phases.get(key), self.values.of(stmt.parity))
        if phase >= 0:
            yield from self._wait(barrier.ended[phase], f"{stmt.barrier}[{index}]", stmt)

    def _end(self, channel: str, what: str) -> tuple[Ring, int]:
        number = self.agent.cursors[channel, what]
        self.agent.cursors[channel, what] = number + 1
        return self.block.ring(channel, self.group), number

    def _wait(self, event: object, why: str, stmt: Stmt) -> Running:
        yield from wait_for(self.core, self.agent, event, why, stmt.span)  # type: ignore[arg-type]  # an Event

    # -- asynchronous work

    def issue(self, stmt: Issue) -> Running:
        yield None
        (inner,) = stmt.body
        work = self.program.costs.of(inner)
        yield from self._needs(work, inner)
        agent = self.agent
        if work.is_async or work.flops:
            start, end = self.core.serve("matrix", agent.now, work.matrix * agent.share)
            if work.shared:  # operands are read as they are multiplied
                end = max(end, self.core.serve("shared", start, work.shared * agent.share)[1])
                self.core.free["matrix"] = max(self.core.free["matrix"], end)
            self._engine("matrix", inner, start, end)
            agent.flying.append((stmt.engine, end, end))
        else:
            self._copied(stmt, inner, work)
        since, agent.now = agent.now, agent.now + ISSUE
        label = f"issue {self._label(inner)}"
        self.core.note(Span(agent.lane, label, "work", since, agent.now, inner.span))

    def _copied(self, stmt: Issue, inner: Stmt, work: Work) -> None:
        """A copy by an engine; of a box that several blocks bring together, this block's part."""
        share = self.agent.share / max(1, stmt.multicast)
        start, end = self._memory(inner, work, share)
        self._engine(stmt.engine, inner, start, end)
        there = end + self.program.latency(inner)
        if stmt.index is not None:
            barrier = self.block.barrier(stmt.onto, self.values.number(stmt.index, 0))
            if barrier is not None:
                barrier.brought(self.core, work.loads, there, untold=stmt.untold)
        elif stmt.onto:
            ring = self.block.ring(stmt.onto, self.group)
            number = self.agent.cursors[stmt.onto, "acquire"] - 1
            ring.arrived[number] = max(ring.arrived[number], there)
        else:
            # A store that has read its source does not hold the block up.
            self.agent.flying.append((stmt.engine, end, end if work.stores else there))
        if work.stores:
            self.stored = end

    def group_up(self, stmt: Group) -> Running:
        mine = [end for engine, _, end in self.agent.flying if engine == stmt.engine]
        self.agent.groups[stmt.token].append(max(mine, default=0.0))
        yield from ()

    def settle(self, stmt: Settle) -> Running:
        groups = self.agent.groups[stmt.token]
        if len(groups) > stmt.back:
            end = groups[-1 - stmt.back]
            self._until(end, f"{stmt.token} is in flight", stmt, "settle")
            self.agent.now += self.program.spec.rates.settle_latency
            self.agent.flying = [f for f in self.agent.flying if f[2] > end]
        yield from ()

    def settle_count(self, stmt: SettleCount) -> Running:
        ends = [f[1] if stmt.read else f[2] for f in self.agent.flying if f[0] == stmt.engine]
        if len(ends) > stmt.pending:
            end = sorted(ends)[len(ends) - 1 - stmt.pending]
            self._until(end, f"{stmt.engine} is in flight", stmt, "settle")
        yield from ()

    def _until(self, end: float, why: str, stmt: Stmt, kind: str = "wait") -> None:
        since, self.agent.now = self.agent.now, max(self.agent.now, end)
        self.core.waits(self.agent, why, since, stmt.span, kind)

    # -- everything else

    def sync(self, stmt: Sync) -> Running:
        yield from self.meet(stmt.scope, stmt)

    def meet(self, scope: str, stmt: Stmt) -> Running:
        """A barrier: of a role the groups of it come, of a block all that has been loaded too."""
        barrier = next(iter(self.program.spec.barriers.values()), None)
        if scope in ("block", "cluster"):
            for end in self.agent.ready.values():
                self.agent.now = max(self.agent.now, end)
        others = self.block.groups.get(self.role, 1)
        if scope == "role" and others > 1:
            yield None
            number = self.agent.cursors["", "sync"]
            self.agent.cursors["", "sync"] = number + 1
            came, time, event = self.block.meetings.get((self.role, number), (0, 0.0, Event()))
            came, time = came + 1, max(time, self.agent.now)
            self.block.meetings[self.role, number] = came, time, event
            if came == others:
                self.core.happens(event, time)
            yield from self._wait(event, "the other groups of the role", stmt)
        self.agent.now += barrier.latency if barrier is not None else STEP

    def reduce(self, stmt: Reduce) -> Running:
        """Lanes meet by shuffles, warps by shared memory and a barrier."""
        yield from self.plain(stmt)
        lanes, warps = self.program.costs.reduced_by(stmt)
        self.agent.now += SHUFFLE * max(0, lanes - 1).bit_length()
        if warps > 1:
            self.agent.now += 2 * self.program.spec.rates.shared_latency
            yield from self.meet("role", stmt)

    def combine(self, stmt: Combine) -> Running:
        cluster = self.program.spec.barriers.get("cluster")
        self.agent.now += 3 * (cluster.latency if cluster is not None else STEP)
        yield from ()

    def plain(self, stmt: Stmt) -> Running:
        yield None
        work, agent, core = self.program.costs.of(stmt), self.agent, self.core
        yield from self._needs(work, stmt)
        since = agent.now
        if work.matrix:
            start, agent.now = core.serve("matrix", agent.now, work.matrix * agent.share)
            self._engine("matrix", stmt, start, agent.now)
        if work.shared:
            agent.now = max(agent.now, core.serve("shared", since, work.shared * agent.share)[1])
        if work.vector:
            end = core.serve("vector", since, work.vector * agent.share)[1] + STEP
            agent.now = max(agent.now, end)
        if work.loads or work.stores:
            yield None
            self._moved(stmt, work)
        core.note(Span(agent.lane, self._label(stmt), "work", since, agent.now, stmt.span))

    def _moved(self, stmt: Stmt, work: Work) -> None:
        """Global memory that threads read and write themselves."""
        start, end = self._memory(stmt, work, self.agent.share)
        self._engine("memory", stmt, start, end)
        if work.filled:
            self.agent.ready[work.filled] = end + self.program.latency(stmt)
        elif work.loads:
            self.agent.now = end + self.program.latency(stmt)
        else:
            self.agent.flying.append(("memory", end, end))

    def _memory(self, stmt: Stmt, work: Work, share: float) -> tuple[float, float]:
        """From when to when bytes move: through the core's port, and those that the cache does not
        have through its part of the device's memory."""
        port, device = self.program.moves(stmt, work)
        start, end = self.core.serve("memory", self.agent.now, port * share)
        if device:
            end = max(end, self.core.serve("device", start, device * share)[1])
        return start, end

    def _needs(self, work: Work, stmt: Stmt) -> Running:
        """What is read has to have come; then others that came first take their turns."""
        ready = self.agent.ready
        late = max((ready[b] for b in work.reads | work.writes if b in ready), default=0.0)
        if late > self.agent.now:
            self._until(late, "wait for loads", stmt)
            yield None

    def _engine(self, engine: str, stmt: Stmt, start: float, end: float) -> None:
        self.core.note(Span(engine, self._label(stmt), engine, start, end, stmt.span))

    def _label(self, stmt: Stmt) -> str:
        labels = self.program.labels
        if id(stmt) not in labels:
            labels[id(stmt)] = " ".join(print_stmt(stmt).split())[:120]
        return labels[id(stmt)]


_STEPS: dict[type, Callable[..., Running]] = {
    Tiles: Walk.tiles,
    For: Walk.loop,
    If: Walk.branch,
    While: Walk.repeat,
    Let: Walk.let,
    Store: Walk.store,
    Claim: Walk.claim,
    Acquire: Walk.acquire,
    Commit: Walk.commit,
    Wait: Walk.wait,
    Release: Walk.release,
    BarrierArrive: Walk.arrive,
    BarrierExpect: Walk.arrive,
    BarrierWait: Walk.await_phase,
    Issue: Walk.issue,
    Group: Walk.group_up,
    Settle: Walk.settle,
    SettleCount: Walk.settle_count,
    Sync: Walk.sync,
    Reduce: Walk.reduce,
    Combine: Walk.combine,
}
