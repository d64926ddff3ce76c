"""Channels as what the machine has: counted barriers with parities where roles or engines meet,
else counts of an engine's groups and a barrier of the threads.

The walk follows each role with what may be under way (`Outstanding`): from that come the numbers of
groups that a wait may leave pending, and whether a slot that is filled anew needs a barrier of its
own, or a wait in between has already brought the threads together.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.opdef import Access, Stmt, bodies
from tile_ir.ops import (
    Acquire,
    Alloc,
    Assume,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    Channel,
    Claim,
    Commit,
    CommitGroup,
    Copy,
    Fence,
    For,
    Gemm,
    Group,
    If,
    Issue,
    Let,
    Parallel,
    Reduce,
    Release,
    Role,
    Scan,
    Settle,
    SettleCount,
    Sync,
    Tiles,
    Wait,
    While,
)
from tile_ir.rewrite import effects, map_stmts, replace, walk
from tile_passes.lower.threads.draws import drawn_together
from tile_passes.lower.threads.ends import Party, Ring, barriers_of, ring_of
from tile_passes.lower.threads.outstanding import Outstanding
from tile_passes.lower.threads.rings import at_slots, with_slot_axis
from tile_passes.lower.threads.roles import group_sync, role_sync, role_threads, roles_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Region
    from tile_ir.expr import Expr, Slot
    from tile_ir.opdef import Body
    from tile_ir.ops import Kernel
    from tile_ir.target import TargetSpec
    from tile_passes.naming import Names

__all__ = ["lower_channels", "uses_channels"]

_DECLARING = (Alloc, Assume, Channel, Let)
"""What may stand between the initialisation of barriers and the threads' meeting."""


def uses_channels(body: Body) -> bool:
    """Whether planning left anything here that this file lowers."""
    return any(isinstance(s, (Barriers, Channel, Role, Issue, Group, Settle)) for s in walk(body))


def lower_channels(
    kernel: Kernel, target: TargetSpec, buffers: dict[str, Buffer], names: Names
) -> tuple[Body, dict[str, Ring]]:
    """A kernel's body without channel operations, and its rings; `buffers` get their slots as first
    axis.

    Issues stay, to be lowered with what they start; roles stay around their bodies.
    """
    body = kernel.body
    rings = {s.name: ring_of(s, body, target, names) for s in walk(body) if isinstance(s, Channel)}
    carried = [n for ring in rings.values() for n in ring.channel.carries]
    for name in carried:
        buffers[name] = with_slot_axis(buffers[name])
    work = _Lowering(kernel, target, rings, {n: buffers[n] for n in carried}, names)
    work.lagging = work.released_late()
    made, _ = work.body(body, Outstanding())
    used = {s.buffer.name for s in walk(made) if isinstance(s, Alloc)}
    buffers.update({n: x for n, x in work.declared.items() if n in used})
    return made, rings


@dataclass(slots=True)
class _Lowering:
    """One walk over a kernel. A loop's body is walked until what is under way at its head no longer
    changes; the statements of the last walk count."""

    kernel: Kernel
    target: TargetSpec
    rings: Mapping[str, Ring]
    buffers: Mapping[str, Buffer]
    names: Names
    declared: dict[str, Buffer] = field(default_factory=dict)
    """What the walk adds to the program's buffers."""
    lagging: frozenset[str] = frozenset()
    """Channels of which a slot is released while a later one is already held."""
    party: Party = field(init=False)
    late: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)
    """Channels of which the producer is filling a slot at this point."""
    known: dict[tuple[int, frozenset[str]], tuple[Stmt, Body]] = field(default_factory=dict)
    """What statements become, by identity and the channels that are being filled."""
    moved: list[Commit] | None = None
    """Commits that leave the branch which is walked."""

    roles: list[Role] = field(init=False)
    """The kernel's roles; none where all threads do the same."""
    engines: dict[str, str] = field(init=False)
    """The engine whose groups fill each channel."""
    read: frozenset[str] = frozenset()
    """The buffers that threads read beside engines which go round their accesses."""
    counting: bool = False
    """Whether the walk only finds out what is under way."""
    by_hand: bool = False
    """Whether the barriers are the user's, and engines are started beside them."""
    shared: frozenset[str] = frozenset()
    """The shared buffers, where the barriers are the user's."""
    using: bool = False
    """Whether the party looks at shared memory, itself or by its matrix instructions."""
    touching: bool = False
    """Whether threads of the party touch shared memory that engines see in their own way."""
    ends: dict[int, tuple[Body, frozenset[str] | None]] = field(default_factory=dict)
    """By identity of a body, which is held so that it stays one: the channels that it both fills
    and empties."""
    own: dict[int, tuple[If, bool]] = field(default_factory=dict)
    """By identity of a branch, held likewise: whether it waits for what it fills itself."""

    @property
    def whole(self) -> Body:
        """All of the kernel."""
        return self.kernel.body

    @property
    def blocks(self) -> int:
        """The blocks of a cluster."""
        return prod(self.kernel.cluster)

    def __post_init__(self) -> None:
        inner = tuple(walk(self.whole))
        if any(isinstance(s, Barriers) for s in inner):
            self.by_hand = any(isinstance(s, Issue) for s in inner)
            allocs = (s.buffer for s in inner if isinstance(s, Alloc))
            self.shared = frozenset(x.name for x in allocs if x.scope == "shared")
        self.party = Party(prod(self.kernel.threads), Sync(scope="block"), self.target)
        self.roles = roles_of(self.whole)
        ends = {name: ring.channel.producer for name, ring in self.rings.items()}
        self.engines = {name: end.name for name, end in ends.items() if end.kind == "engine"}
        if "async" in self.target.proxies:
            self.read = _read_by_threads(self.whole)
        self.touching, self.using = self._touches(self.whole)

    def _touches(self, body: Body) -> tuple[bool, bool]:
        """Whether threads touch shared memory in a kernel of the user's own barriers whose engines
        or matrix instructions go round their accesses: who waits for an arrival may start one; and
        whether they or their matrix instructions touch it at all."""
        every = Access.READ | Access.WRITE | Access.UPDATE
        own = bool(_by_threads(body, every) & self.shared)
        issued = (s for s in walk(body) if isinstance(s, Issue) and s.index is None)
        used = {e.buffer for s in issued for t in s.body for e in effects(t)}
        passes = "async" in self.target.proxies and self.by_hand
        return own and passes, own or bool(used & self.shared)

    def released_late(self) -> frozenset[str]:
        """The channels whose releases do not always mean the slot waited for last."""
        self.counting = True
        self.body(self.whole, Outstanding())
        self.counting = False
        return frozenset(self.late)

    # -- bodies

    def body(self, body: Body, state: Outstanding) -> tuple[Body, Outstanding]:
        entry, out, fresh = state, list[Stmt](), list[Barriers]()
        for stmt in body:
            if fresh and not isinstance(stmt, (*_DECLARING, Barriers)):
                out.append(_meeting(fresh))
                fresh = []
            made, state = self.step(stmt, state)
            out += made
            fresh += [s for s in made if isinstance(s, Barriers)]
        if any(isinstance(s, Barriers) and s.scope == "cluster" for s in out):
            # A block's memory stays until no other block arrives or copies there any more.
            out.append(Sync(scope="cluster"))
        return tuple(out), self._balanced(body, entry, state)

    def _balanced(self, body: Body, entry: Outstanding, state: Outstanding) -> Outstanding:
        """What a body that found a channel empty, filled and used it leaves: it is empty again.

        Ends of a channel do as many operations as each other, which the protocol check has proved;
        branches hide that from bounds.
        """
        _, both = self.ends.get(id(body), (body, None))
        if both is None:
            done = list(walk(body))
            filled = frozenset(s.channel for s in done if isinstance(s, Acquire))
            emptied = frozenset(s.channel for s in done if isinstance(s, Release))
            both = filled & emptied
            self.ends[id(body)] = body, both
        for name in both:
            if entry.is_empty(name):
                state = state.emptied(name)
        return state

    def _loop(self, body: Body, state: Outstanding) -> tuple[Body, Outstanding]:
        while True:
            made, after = self.body(body, state)
            head = state.join(after)
            if head == state:
                return made, head
            state = head

    # -- statements

    def step(self, s: Stmt, state: Outstanding) -> tuple[Body, Outstanding]:
        """What a statement becomes, and the state after it."""
        if isinstance(s, Channel):
            return self._declared(self.rings[s.name]), state
        if isinstance(s, (Acquire, Commit, Wait, Release)):
            return self._operation(s, state)
        if isinstance(s, Group):
            state = state.closed(s.engine, self.engines).named(s.engine, s.token)
            return (CommitGroup(engine=s.engine, span=s.span),), state
        if isinstance(s, Settle):
            return self._settle(s, state)
        if isinstance(s, Sync):
            if s.scope == "group" and self.party.group_sync is not None:
                return (dataclasses.replace(self.party.group_sync, span=s.span),), state
            made = self.party.sync if s.scope == "role" else s
            state = state if s.part == "arrive" else state.synchronized()
            return (*self._before_meeting(s), dataclasses.replace(made, span=s.span)), state
        if isinstance(s, Role):
            return (self._role(s),), state
        if self.counting and (isinstance(s, (Issue, Parallel)) or not bodies(s)):
            return (), state
        if isinstance(s, (Issue, Parallel)) or not bodies(s):
            return self._placed(s), state
        return self._nested(s, state)

    def _placed(self, s: Stmt) -> Body:
        """A statement at the slots where the ends of the channels stand; it is asked for again
        while a loop's body is walked until it is known what is under way."""
        key = id(s), frozenset(self.open)
        found = self.known.get(key)
        if found is None:
            made = tuple(map(self._at_slots, self._without_rings(s)))
            if isinstance(s, BarrierArrive):
                made = (*self._before_arrival(s), *made)
            found = self.known[key] = s, made
        return found[1]

    def _before_arrival(self, s: BarrierArrive) -> Body:
        """What orders the accesses of the threads before an arrival of the user's: with those of
        engines, and with each other where one thread arrives for all."""
        out: list[Stmt] = []
        if self.touching:
            out.append(Fence(before="generic", after="async", span=s.span))
        if s.one and self.using and self.party.threads > 1:
            out.append(dataclasses.replace(self.party.sync, span=s.span))
        return tuple(out)

    def _before_meeting(self, s: Sync) -> Body:
        """What orders the accesses of threads before those of another block's engine, which a
        meeting of the cluster may start."""
        if s.scope != "cluster" or s.part == "wait" or not self.touching:
            return ()
        return (Fence(before="generic", after="async", span=s.span),)

    def _without_rings(self, s: Stmt) -> Body:
        """A statement that counts the axes of its operands works on copies of slots, which have
        only those."""
        if isinstance(s, Claim) and s.onto:
            return drawn_together(s, self.rings[s.onto], self.blocks, self.names)
        if not isinstance(s, (Reduce, Scan)):
            return (s,)
        before: list[Stmt] = []
        after: list[Stmt] = []
        for side in ("src", "dst"):
            region: Region = getattr(s, side)
            if region.buffer not in self.buffers:
                continue
            held = self._fragment(region)
            before.append(Alloc(buffer=held, span=s.span))
            if side == "src" or (isinstance(s, Reduce) and not s.clear):
                before.append(Copy(src=region, dst=b.whole(held), span=s.span))
            if side == "dst":
                after.append(Copy(src=b.whole(held), dst=region, span=s.span))
            s = replace(s, **{side: b.whole(held)})
        return (*before, s, *after)

    def _fragment(self, region: Region) -> Buffer:
        ring = self.buffers[region.buffer]
        made = Buffer(
            name=self.names.fresh(f"{ring.name}_r"),
            dtype=ring.dtype,
            shape=tuple(r.extent for r in region.ranges),
            scope="fragment",
        )
        self.declared[made.name] = made
        return made

    def _at_slots(self, s: Stmt) -> Stmt:
        def one(t: Stmt) -> Stmt:
            return at_slots(t, self.buffers, self._slot)

        return map_stmts((s,), one)[0]

    def _slot(self, slot: Slot) -> Expr:
        ring = self.rings[slot.channel]
        end = ring.producer if slot.channel in self.open else ring.consumer
        return end.at(slot.back)

    def _nested(self, s: Stmt, state: Outstanding) -> tuple[Body, Outstanding]:
        head = s if self.counting else at_slots(s, self.buffers, self._slot)
        if isinstance(s, If):
            return self._branch(s, head, state)
        outer, self.moved = self.moved, None
        made: Body
        if isinstance(s, (For, While)) or (isinstance(s, Tiles) and s.claim != "hardware"):
            made, state = self._loop(s.body, state)
        else:
            made, state = self.body(s.body, state)  # type: ignore[attr-defined]  # what else has bodies has one
        self.moved = outer
        return (replace(head, body=made),), state

    def _branch(self, s: If, head: Stmt, state: Outstanding) -> tuple[Body, Outstanding]:
        """Settling in one arm only is brought before the branch and closing a group behind it: both
        are harmless where nothing is under way, and counts stay the same on all paths. A branch
        that waits for what it filled itself closes the groups where it fills."""
        if s.orelse or self._waits_for_own(s):
            outer, self.moved = self.moved, None
            yes, after = self.body(s.then, state)
            no, other = self.body(s.orelse, state)
            self.moved = outer
            return (replace(head, then=yes, orelse=no),), after.join(other)
        out: list[Stmt] = []
        inner = list(s.then)
        while inner and isinstance(inner[0], Settle):
            made, state = self._settle(inner.pop(0), state)  # type: ignore[arg-type]  # just checked
            out += made
        outer, self.moved = self.moved, []
        yes, after = self.body(tuple(inner), state)
        moved, self.moved = self.moved, outer
        if yes:
            out.append(replace(head, then=yes))
        state = after.join(state)
        for commit in moved:
            made, state = self._operation(commit, state)
            out += made
        return tuple(out), state

    def _waits_for_own(self, s: If) -> bool:
        """Whether the branch waits for a slot of a channel that it fills before."""
        key = id(s)
        if key not in self.own:
            inside = list(walk(s.then))
            filled = {t.channel for t in inside if isinstance(t, Commit)}
            self.own[key] = s, any(isinstance(t, Wait) and t.channel in filled for t in inside)
        return self.own[key][1]

    def _settle(self, s: Settle, state: Outstanding) -> tuple[Body, Outstanding]:
        found = state.pending(s.token, s.back)
        if found is None:
            return (), state
        engine, count = found
        return (SettleCount(engine=engine, pending=count, read=s.read, span=s.span),), state

    # -- roles

    def _role(self, s: Role) -> Stmt:
        outer = self.party
        sync = role_sync(s, self.roles, self.target) or Sync(scope="role", threads=1)
        group = None if s.elect else group_sync(self.roles, self.target)
        self.party = Party(role_threads(s, self.target), sync, self.target, bool(s.elect), group)
        here = self.touching, self.using
        self.touching, self.using = self._touches(s.body)
        body, _ = self.body(s.body, Outstanding())
        self.party, (self.touching, self.using) = outer, here
        touched = {(type(t), t.channel) for t in walk(s.body) if isinstance(t, (Acquire, Wait))}
        lead: list[Stmt] = []
        for name, ring in self.rings.items():
            if (Acquire, name) in touched:
                lead += ring.producer.declared()
            if (Wait, name) in touched:
                lead += self._consuming(name, ring)
        return replace(s, body=(*lead, *body))

    def _consuming(self, name: str, ring: Ring) -> Body:
        late = ring.counted and name in self.lagging
        return (*ring.consumer.declared(), *(ring.tail.declared() if late else ()))

    # -- channels

    def _declared(self, ring: Ring) -> Body:
        lead = barriers_of(ring, self.kernel, self.target) if ring.counted else ()
        if self.roles:
            return lead
        return (*lead, *ring.producer.declared(), *self._consuming(ring.channel.name, ring))

    def _operation(
        self, s: Acquire | Commit | Wait | Release, state: Outstanding
    ) -> tuple[Body, Outstanding]:
        ring = self.rings[s.channel]
        depth, name = ring.channel.depth, s.channel
        if isinstance(s, Acquire):
            self.open.add(name)
            made, state = self._acquire(s, ring, state)
            return (*ring.producer.step(s.span), *made), state.acquired(name, depth)
        if isinstance(s, Commit):
            self.open.discard(name)
            return self._commit(s, ring, state)
        if isinstance(s, Wait):
            made, state = self._wait(s, ring, state)
            return (*ring.consumer.step(s.span), *made), state.waited(name, depth)
        if state.held.get(name, (0, 0)) != (1, 1):
            self.late.add(name)
        return self._release(s, ring), state.released(name, depth)

    def _acquire(self, s: Acquire, ring: Ring, state: Outstanding) -> tuple[Body, Outstanding]:
        c = ring.channel
        if ring.counted:
            at = ring.producer.at()
            wait = BarrierWait(
                barrier=ring.empty, index=at, parity=ring.producer.phase(), span=s.span
            )
            if not c.bytes:
                return (wait,), state
            expect = BarrierExpect(barrier=ring.full, index=at, bytes=c.bytes, span=s.span)
            return (wait, *self.party.by_one((expect,))), state
        if c.consumer.kind == "engine":
            # The engine gives a slot back when it has read it; the issuing thread waits for that.
            engine = c.consumer.name
            settle = SettleCount(engine=engine, pending=c.depth - 1, read=True, span=s.span)
            meeting = self.party.meeting(c)
            return (settle, meeting), state if c.producer.per_group else state.synchronized()
        free = c.depth - state.taken.get(c.name, 0)
        if free > state.loose.get(c.name, 0):  # the oldest free slot was free at the last barrier
            return (), state
        return (self.party.sync,), state.synchronized()

    def _commit(self, s: Commit, ring: Ring, state: Outstanding) -> tuple[Body, Outstanding]:
        c = ring.channel
        if c.consumer.kind == "engine":
            group = CommitGroup(engine=c.consumer.name, span=s.span)
            return (group,), state.closed(c.consumer.name, self.engines)
        if c.producer.kind == "role":
            if not ring.counted or c.bytes:  # announced bytes were the arrival
                return (), state
            at = ring.producer.at()
            return self.party.arrive(ring.full, at, c.producer.arrivals, s), state
        engine = c.producer.name
        if self.target.copy[engine].completion == "barrier":
            return (), state
        if ring.counted:
            settle = SettleCount(engine=engine, pending=0, span=s.span)
            arrive = self.party.arrive(ring.full, ring.producer.at(), self.party.threads, s)
            state = state.closed(engine, self.engines)
            return (CommitGroup(engine=engine, span=s.span), settle, *arrive), state
        if self.moved is not None:
            self.moved.append(s)
            return (), state
        state = state.closed(engine, self.engines).filled(c.name)
        return (CommitGroup(engine=engine, span=s.span),), state

    def _wait(self, s: Wait, ring: Ring, state: Outstanding) -> tuple[Body, Outstanding]:
        c = ring.channel
        if ring.counted:
            at, parity = ring.consumer.at(), ring.consumer.phase()
            wait = BarrierWait(barrier=ring.full, index=at, parity=parity, span=s.span)
            return (wait,), state
        out: list[Stmt] = []
        if c.producer.kind == "engine":
            pending = state.oldest(c.name)
            out.append(SettleCount(engine=c.producer.name, pending=pending, span=s.span))
            if self._read_by_engine(c):
                out.append(Fence(before="generic", after="async", span=s.span))
        out.append(self.party.sync)
        return tuple(out), state.synchronized()

    def _read_by_engine(self, c: Channel) -> bool:
        """Whether asynchronous instructions read what threads put into the slots."""
        if "async" not in self.target.proxies:
            return False
        gemms = (s.body[0] for s in walk(self.whole) if isinstance(s, Issue))
        read = {r.buffer for g in gemms if isinstance(g, Gemm) for r in (g.a, g.b)}
        return bool(read & set(c.carries))

    def _release(self, s: Release, ring: Ring) -> Body:
        if not ring.counted:
            return ()
        end = ring.channel.consumer
        blocks = self.blocks if ring.channel.scope == "cluster" else 1
        fence = self._after_reads(ring.channel, s)
        if s.channel not in self.lagging:
            arrive = self.party.arrive(ring.empty, ring.consumer.at(), end.arrivals, s, blocks)
            return (*fence, *arrive)
        arrive = self.party.arrive(ring.empty, ring.tail.at(), end.arrivals, s, blocks)
        return (*ring.tail.step(s.span), *fence, *arrive)

    def _after_reads(self, c: Channel, s: Release) -> Body:
        """What has to stand between reads of a slot by threads and its release to a copy engine.

        An arrival is not held up by loads that are still under way, and the engine may fill the
        slot before they have read it: beside matrix instructions that keep shared memory busy they
        take longer than a copy out of a near cache.
        """
        if c.producer.kind != "engine" or self.read.isdisjoint(c.carries):
            return ()
        return (Fence(before="generic", after="async", span=s.span),)


def _read_by_threads(body: Body) -> frozenset[str]:
    """The buffers that anything but issued operations reads."""
    return _by_threads(body, Access.READ)


def _by_threads(body: Body, access: Access) -> frozenset[str]:
    """The buffers that anything but issued operations touches so."""
    issued = {id(x) for s in walk(body) if isinstance(s, Issue) for x in walk(s.body)}
    return frozenset(
        e.buffer for s in walk(body) if id(s) not in issued for e in effects(s) if e.access & access
    )


def _meeting(fresh: list[Barriers]) -> Sync:
    """What makes fresh barriers known to all who use them."""
    return Sync(scope="cluster" if any(s.scope == "cluster" for s in fresh) else "block")
