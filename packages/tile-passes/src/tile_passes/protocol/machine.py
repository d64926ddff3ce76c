"""Runs a skeleton for given values of its symbols: channels count, groups settle, and every access
is checked.

Roles and engines with bounded channels form a Kahn network: what happens does not depend on who
runs first, so each role runs until it must wait, then the next. At the head of each loop the state
of all roles is noted relative to that loop's variable; when it recurs, further trips repeat what
was seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tile_ir.expr import Expr, Slot
    from tile_ir.ops import Channel
    from tile_passes.protocol.skeleton import Env, Instr, Skeleton, Touch

Who = tuple[str, int]
"""A role and a group of it."""

Memory = tuple[str, str, int]
"""A buffer (with "" and 0), or a buffer's slot as channel and number of the filling."""


class ViolationError(Exception):
    """The protocol is broken. `who` did it at `instr`."""

    def __init__(self, message: str, who: Who, instr: Instr | None) -> None:
        super().__init__(message)
        self.message, self.who, self.instr = message, who, instr


@dataclass(slots=True)
class Op:
    """An operation in flight."""

    reads: frozenset[Memory]
    writes: frozenset[Memory]
    instr: Instr


@dataclass(slots=True)
class Ring:
    """A channel's counts of steps done, by participant; fillings are numbered from 0."""

    channel: Channel
    acquired: dict[Who, int]
    committed: dict[Who, int]
    waited: dict[Who, int]
    released: dict[Who, int]
    filled: int

    def may_acquire(self, who: Who) -> bool:
        """Whether a slot is free; an engine that consumes always frees one."""
        if not self.released:
            return True
        number = self.filled + self.acquired[who]
        return number - self.channel.depth < min(self.released.values())

    def may_wait(self, who: Who) -> bool:
        """Whether the next filling is there."""
        if not self.committed:
            return self.waited[who] < self.filled
        return self.waited[who] < self.filled + min(self.committed.values())

    def relative(self) -> tuple[int, ...]:
        """The counts up to a common shift."""
        base = min([self.filled + n for n in self.acquired.values()] + list(self.released.values()))
        begun = [*self.acquired.values(), *self.committed.values()]
        ended = [*self.waited.values(), *self.released.values()]
        return (*(self.filled + n - base for n in begun), *(n - base for n in ended))


@dataclass(slots=True)
class Role:
    """A participant: its program, where it is, and what it has in flight."""

    who: Who
    code: list[Instr]
    env: Env
    at: int = 0
    open: dict[str, list[Op]] = field(default_factory=dict)
    groups: dict[str, list[list[Op]]] = field(default_factory=dict)
    tokens: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    finished: dict[str, int] = field(default_factory=dict)
    """Groups of each engine that have settled."""

    def flying(self) -> list[Op]:
        """Operations in flight, oldest first."""
        out = [op for ops in self.open.values() for op in ops]
        for engine, groups in self.groups.items():
            for group in groups[self.finished.get(engine, 0) :]:
                out += group
        return out


class Machine:
    """One run. `recurred` collects the loops (by their instruction) whose state came back."""

    def __init__(self, skeleton: Skeleton, values: dict[Expr, int]) -> None:
        self.skeleton = skeleton
        self.roles = [
            Role((name, g), code, dict(values))
            for name, code in skeleton.programs.items()
            for g in range(skeleton.groups[name])
        ]
        self.ends = _ends(skeleton)
        self.rings: dict[tuple[str, Who, bool], Ring] = {}
        self.all_rings: list[Ring] = []
        for channel in skeleton.channels.values():
            self._open(channel)
        self.log: list[tuple[Who, Instr]] = []
        self.steps = 0
        self.heads: dict[Any, int] = {}
        self.met: set[int] = set()
        self.recurred: set[int] = set()

    def _open(self, channel: Channel) -> None:
        producers = [r.who for r in self.roles if (channel.name, r.who[0]) in self.ends[0]]
        consumers = [r.who for r in self.roles if (channel.name, r.who[0]) in self.ends[1]]
        ends = (channel.producer, channel.consumer)
        apart = any(e.per_group for e in ends) and all(
            e.per_group for e in ends if e.kind == "role"
        )
        if not apart:
            self._ring(channel, producers, consumers, channel.filled)
            return
        turns = {p[0] for p in producers} == {c[0] for c in consumers}
        groups = sorted({g for _, g in (*producers, *consumers)})
        for g in groups:
            sender = (g - 1) % len(groups) if turns else g
            self._ring(
                channel,
                [p for p in producers if p[1] == sender],
                [c for c in consumers if c[1] == g],
                channel.filled if g == 0 or not turns else 0,
            )

    def _ring(
        self, channel: Channel, producers: list[Who], consumers: list[Who], filled: int
    ) -> None:
        begin, end = dict.fromkeys(producers, 0), dict.fromkeys(consumers, 0)
        ring = Ring(channel, dict(begin), dict(begin), dict(end), dict(end), filled)
        self.all_rings.append(ring)
        for who in producers:
            self.rings[channel.name, who, True] = ring
        for who in consumers:
            self.rings[channel.name, who, False] = ring

    # -- running

    def run(self, budget: int) -> None:
        """Run all roles to their ends.

        Raises:
            ViolationError: the protocol is broken.
        """
        alive = list(self.roles)
        while alive:
            moved = False
            for role in list(alive):
                before = self.steps
                if self._advance(role, budget):
                    alive.remove(role)
                moved = moved or self.steps > before or role not in alive
            if not moved:
                raise self._deadlock(alive)
        self._finish()

    def _advance(self, role: Role, budget: int) -> bool:
        """Run a role until it waits (False) or ends (True)."""
        code = role.code
        while role.at < len(code):
            instr = code[role.at]
            if not getattr(self, f"_do_{instr.op}")(role, instr):
                return False
            self.steps += 1
            if self.steps > budget:
                raise TimeoutError
        return True

    def _deadlock(self, alive: list[Role]) -> ViolationError:
        first = alive[0]
        where = "; ".join(f"{name(r.who)} waits at `{r.code[r.at].text}`" for r in alive)
        return ViolationError(f"deadlock: {where}", first.who, first.code[first.at])

    def _finish(self) -> None:
        for role in self.roles:
            flying = role.flying()
            if flying:
                raise ViolationError(
                    f"`{flying[0].instr.text}` is never settled", role.who, flying[0].instr
                )
        for ring in self.all_rings:
            engine = ring.channel.producer.kind == "engine"
            sent = ring.filled + min(ring.committed.values(), default=0)
            if engine and ring.waited and min(ring.waited.values()) < sent:
                who = next(iter(ring.waited))
                raise ViolationError(
                    f"a filling of {ring.channel.name} is never waited for", who, None
                )

    # -- control

    def _do_enter(self, role: Role, i: Instr) -> bool:
        var, start = i.args
        role.env[var] = start(role.env)
        role.at += 1
        return True

    def _do_head(self, role: Role, i: Instr) -> bool:
        var, stop, step, fixed, leave = i.args
        value, last = role.env[var], stop(role.env)
        inside = value < last if step > 0 else value > last
        if inside and not fixed:
            self._note(role, var, value, abs(last - value))
        role.at = role.at + 1 if inside else leave
        return True

    def _note(self, role: Role, var: Expr, value: int, left: int) -> None:
        """Compare the state at a loop's head with earlier trips; constants are far from both
        ends.
        """
        head = id(role.code[role.at])
        self.met.add(head)
        reach = self.skeleton.reach
        if head in self.recurred or value <= reach or left <= reach:
            return
        key = (head, self._state(role, var, value))
        if self.heads.setdefault(key, value) != value:
            self.recurred.add(head)

    def _state(self, at: Role, var: Expr, value: int) -> tuple[Any, ...]:
        """All roles and channels, loop variables of the same name as distances."""
        loops = tuple(
            (r.at, tuple((v, n - value if v is var else n) for v, n in r.env.items()))
            for r in self.roles
        )
        rings = tuple(r.relative() for r in self.all_rings)
        flying = tuple(tuple(id(op.instr) for op in r.flying()) for r in self.roles)
        return (at.who, loops, rings, flying)

    def _do_next(self, role: Role, i: Instr) -> bool:
        var, step, head = i.args
        role.env[var] += step
        role.at = head
        return True

    def _do_if(self, role: Role, i: Instr) -> bool:
        role.at = role.at + 1 if i.args[0](role.env) else i.args[1]
        return True

    def _do_set(self, role: Role, i: Instr) -> bool:
        flag, value = i.args
        role.env[flag] = value
        role.at += 1
        return True

    def _do_jump(self, role: Role, i: Instr) -> bool:
        role.at = i.args[0]
        return True

    # -- channels

    def _done(self, role: Role, i: Instr) -> bool:
        self.log.append((role.who, i))
        role.at += 1
        return True

    def _end(self, role: Role, i: Instr, producer: bool) -> Ring:
        ring = self.rings.get((i.args[0], role.who, producer))
        if ring is None:
            raise ViolationError(f"{i.text}: no such end in {name(role.who)}", role.who, i)
        return ring

    def _do_acquire(self, role: Role, i: Instr) -> bool:
        ring = self._end(role, i, True)
        if not ring.may_acquire(role.who):
            return False
        ring.acquired[role.who] += 1
        return self._done(role, i)

    def _do_commit(self, role: Role, i: Instr) -> bool:
        ring = self._end(role, i, True)
        if ring.committed[role.who] >= ring.acquired[role.who]:
            raise ViolationError(f"`{i.text}` without a slot acquired", role.who, i)
        producer, consumer = ring.channel.producer, ring.channel.consumer
        for end in (producer, consumer):
            if end.kind == "engine":
                role.open.pop(end.name, None)  # they complete into the channel, or out of it
        ring.committed[role.who] += 1
        return self._done(role, i)

    def _do_wait(self, role: Role, i: Instr) -> bool:
        ring = self._end(role, i, False)
        if not ring.may_wait(role.who):
            return False
        ring.waited[role.who] += 1
        return self._done(role, i)

    def _do_release(self, role: Role, i: Instr) -> bool:
        ring = self._end(role, i, False)
        number = ring.released[role.who]
        if number >= ring.waited[role.who]:
            raise ViolationError(f"`{i.text}` without a slot waited for", role.who, i)
        for op in role.flying():
            if any(m[1:] == (ring.channel.name, number) for m in op.reads | op.writes):
                raise ViolationError(
                    f"`{i.text}` while `{op.instr.text}` still reads the slot", role.who, i
                )
        ring.released[role.who] += 1
        return self._done(role, i)

    # -- memory

    def _memory(self, role: Role, i: Instr, touch: Touch, write: bool) -> Memory:
        buffer, slot = touch
        if slot is None:
            return (buffer, "", 0)
        return (buffer, slot.channel, self._held(role, i, slot, write))

    def _held(self, role: Role, i: Instr, slot: Slot, write: bool) -> int:
        """The number of the filling that a slot means; it must be held.

        Raises:
            ViolationError: this role does not hold it.
        """
        feeds = self.rings.get((slot.channel, role.who, True))
        takes = self.rings.get((slot.channel, role.who, False))
        ring = feeds if feeds is not None and (write or takes is None) else takes
        if ring is None:
            raise ViolationError(f"{slot.channel} has no end here", role.who, i)
        if ring is feeds and (write or takes is None):
            first = ring.filled + ring.committed[role.who]
            last = ring.filled + ring.acquired[role.who] - 1
        else:
            first, last = ring.released[role.who], ring.waited[role.who] - 1
        number = last - slot.back
        if not first <= number <= last:
            raise ViolationError(
                f"`{i.text}` touches a slot of {slot.channel} that is not held", role.who, i
            )
        return number

    def _do_access(self, role: Role, i: Instr) -> bool:
        reads = {self._memory(role, i, t, write=False) for t in i.args[0]}
        writes = {self._memory(role, i, t, write=True) for t in i.args[1]}
        for op in role.flying():
            if op.writes & (reads | writes) or op.reads & writes:
                raise ViolationError(
                    f"`{op.instr.text}` is still in flight where its memory is touched", role.who, i
                )
        role.at += 1
        return True

    def _do_issue(self, role: Role, i: Instr) -> bool:
        engine, onto, reads, writes = i.args
        read = frozenset(self._memory(role, i, t, write=False) for t in reads)
        written = frozenset(self._memory(role, i, t, write=True) for t in writes)
        if not onto:
            operands = read - written
            for op in role.flying():
                if op.writes & operands or op.reads - op.writes & written:
                    raise ViolationError(
                        f"`{op.instr.text}` is still in flight where its memory is used",
                        role.who,
                        i,
                    )
            role.open.setdefault(engine, []).append(Op(read, written, i))
        return self._done(role, i)

    def _do_group(self, role: Role, i: Instr) -> bool:
        engine, token = i.args
        groups = role.groups.setdefault(engine, [])
        groups.append(role.open.pop(engine, []))
        role.tokens.setdefault(token, []).append((engine, len(groups)))
        return self._done(role, i)

    def _do_settle(self, role: Role, i: Instr) -> bool:
        token, back, read = i.args
        closed = role.tokens.get(token)
        if closed is None:
            raise ViolationError(f"`{i.text}`: no group of that name", role.who, i)
        if back < len(closed):
            engine, count = closed[-1 - back]
            self._settle(role, engine, count, read)
        return self._done(role, i)

    def _do_settle_count(self, role: Role, i: Instr) -> bool:
        engine, pending, read = i.args
        count = len(role.groups.get(engine, ())) - pending
        self._settle(role, engine, count, read)
        return self._done(role, i)

    def _settle(self, role: Role, engine: str, count: int, read: bool) -> None:
        if read:
            for group in role.groups.get(engine, [])[: max(count, 0)]:
                for op in group:
                    op.reads = frozenset()
        else:
            role.finished[engine] = max(role.finished.get(engine, 0), count)


def _ends(skeleton: Skeleton) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Which roles act at the producer and at the consumer end of each channel."""
    feeds, takes = set(), set()
    for role, code in skeleton.programs.items():
        for i in code:
            if i.op in ("acquire", "commit"):
                feeds.add((i.args[0], role))
            elif i.op in ("wait", "release"):
                takes.add((i.args[0], role))
    return feeds, takes


def name(who: Who) -> str:
    """A participant as users know it."""
    role, group = who
    return f"{role}[{group}]" if role else "the kernel"
