"""One run of a kernel with barriers of its own, with clocks that tell which steps must come before
which.

A clock holds, for each role, how many of its steps have surely happened, and for each barrier how
many phases have surely ended. A wait takes over what all who arrived knew. If every wait can only
end with the one phase that it ended with here, all interleavings do the same, and the clocks of one
run show every pair of accesses that nothing orders; where a wait might end with another phase,
that is the mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tile_ir.ops import BarrierArrive, Gemm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.expr import Expr
    from tile_passes.protocol.hand_program import Program, Touch
    from tile_passes.protocol.skeleton import Instr

__all__ = ["HandMachine", "MisuseError", "Step"]

Box = tuple[tuple[int, int], ...]
Clock = dict[Any, int]
"""By role its steps, by (barrier, index) its phases."""


class MisuseError(Exception):
    """Barriers are used wrongly. `help` says what to look for; `sure` is false where a box was
    taken larger than it may be."""

    def __init__(self, message: str, role: str, instr: Instr, fix: str, sure: bool = True) -> None:
        super().__init__(message)
        self.message, self.role, self.instr, self.fix, self.sure = message, role, instr, fix, sure


@dataclass(frozen=True, slots=True)
class Step:
    """What a role did: an instruction, with the values that its operands had."""

    role: str
    instr: Instr
    text: str


@dataclass(slots=True)
class Phase:
    """One barrier: arrivals in this phase, phases ended, what is known of those who arrived."""

    wanted: int
    arrived: int = 0
    done: int = 0
    clock: Clock = field(default_factory=dict)
    """Joined over the arrivals of this phase."""
    ended: Clock = field(default_factory=dict)
    """Joined over all phases that have ended."""
    passed: list[tuple[str, int, Instr]] = field(default_factory=list)
    """Who passed a wait since the last phase ended, at which of its steps."""


@dataclass(slots=True)
class Access:
    """A box that was read or written. It is over for those who know `until`: a step of the role, or
    the end of a phase."""

    role: str
    box: Box
    write: bool
    exact: bool
    instr: Instr
    until: tuple[Any, int]
    """A component of a clock, and what it must have reached."""


@dataclass(slots=True)
class Flight:
    """A copy whose end only its role can wait for, by counting groups."""

    accesses: list[Access]
    engine: str
    group: int = -1


@dataclass(slots=True)
class Player:
    """A role: its program, where it is, what it knows and has under way."""

    name: str
    code: list[Instr]
    env: dict[Expr, int]
    at: int = 0
    clock: Clock = field(default_factory=dict)
    flights: list[Flight] = field(default_factory=list)
    groups: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """The groups closed under each name, as engine and number."""
    met: int = 0


class HandMachine:
    """A run for given values of the program's symbols."""

    def __init__(self, program: Program, values: Mapping[Expr, int]) -> None:
        self.program = program
        self.players = [
            Player(name, code, dict(values), clock={name: 0})
            for name, code in program.roles.items()
        ]
        self.phases = {
            (s.name, i): Phase(wanted=(s.each or (s.arrivals,) * s.count)[i])
            for s in program.barriers.values()
            for i in range(s.count)
        }
        self.memory: dict[str, list[Access]] = {}
        self.meetings: dict[int, Clock] = {}
        """What those knew who came to each barrier of the block, by its number."""
        self.log: list[Step] = []
        self.steps = 0

    # -- running

    def run(self, budget: int) -> None:
        """Run all roles to their ends.

        Raises:
            MisuseError: barriers are used wrongly.
            TimeoutError: it takes more steps than `budget`.
        """
        alive = list(self.players)
        while alive:
            before = self.steps
            for player in list(alive):
                if self._advance(player, budget):
                    alive.remove(player)
            if self.steps == before and alive:
                raise self._deadlock(alive)

    def _advance(self, player: Player, budget: int) -> bool:
        while player.at < len(player.code):
            instr = player.code[player.at]
            if not getattr(self, f"_do_{instr.op}")(player, instr):
                return False
            self.steps += 1
            if self.steps > budget:
                raise TimeoutError
        return True

    def _deadlock(self, alive: list[Player]) -> MisuseError:
        where = []
        for p in alive:
            i = p.code[p.at]
            line = f", line {i.span.line}" if i.span is not None else ""
            where.append(f"{_name(p.name)} at `{self._named(p, i)}`{line}")
        first = alive[0]
        fix = (
            "look for an arrival that is missing or comes too late, for a first wait that should "
            "pass at once (parity 1), or for barriers that are mixed up"
        )
        why = "every role waits: " + "; ".join(where)
        if len(self.players) > len(alive) or len(alive) == 1:
            why = "a wait never ends: " + "; ".join(where)
        return MisuseError(why, first.name, first.code[first.at], fix)

    def _named(self, p: Player, i: Instr) -> str:
        if i.op == "wait":
            name, index, parity = i.args
            return f"wait {name}[{index(p.env)}] parity {parity(p.env)}"
        return i.text

    def _note(self, player: Player, i: Instr, text: str) -> bool:
        player.clock[player.name] += 1
        self.log.append(Step(player.name, i, text))
        player.at += 1
        return True

    # -- control

    def _do_set(self, player: Player, i: Instr) -> bool:
        to, value = i.args
        player.env[to] = value(player.env)
        player.at += 1
        return True

    def _do_head(self, player: Player, i: Instr) -> bool:
        var, stop, step, leave = i.args
        value, last, by = player.env[var], stop(player.env), step(player.env)
        inside = value < last if by > 0 else value > last
        player.at = player.at + 1 if inside else leave
        return True

    def _do_next(self, player: Player, i: Instr) -> bool:
        var, step, head = i.args
        player.env[var] += step(player.env)
        player.at = head
        return True

    def _do_if(self, player: Player, i: Instr) -> bool:
        player.at = player.at + 1 if i.args[0](player.env) else i.args[1]
        return True

    def _do_jump(self, player: Player, i: Instr) -> bool:
        player.at = i.args[0]
        return True

    # -- barriers

    def _phase(self, player: Player, i: Instr, name: str, index: int) -> Phase:
        found = self.phases.get((name, index))
        if found is None:
            count = self.program.barriers[name].count
            raise MisuseError(
                f"there is no barrier {name}[{index}]",
                player.name,
                i,
                f"the indices of {name} are 0 to {count - 1}",
            )
        return found

    def _do_wait(self, player: Player, i: Instr) -> bool:
        name, index, parity = i.args
        key = (name, index(player.env))
        phase, wanted = self._phase(player, i, *key), parity(player.env)
        if phase.done % 2 == wanted % 2:
            return False
        known = player.clock.get(key, 0)
        if phase.done >= 2 and known < phase.done - 1:
            raise MisuseError(
                f"the wait for {name}[{key[1]}] parity {wanted} may end a phase too early",
                player.name,
                i,
                f"{_name(player.name)} may come here when only {known} phases have ended, and "
                f"parity {wanted} is then over as well: wait for every phase in turn, or for the "
                "other parity",
            )
        _join(player.clock, phase.ended)
        phase.passed.append((player.name, player.clock[player.name] + 1, i))
        return self._note(player, i, f"wait {name}[{key[1]}] parity {wanted}")

    def _do_arrive(self, player: Player, i: Instr) -> bool:
        name, index = i.args
        key = (name, index(player.env))
        phase = self._phase(player, i, *key)
        one = isinstance(i.stmt, BarrierArrive) and i.stmt.one
        threads = 1 if one else self.program.threads[player.name]
        many = "1 thread" if one else f"{threads} threads"
        if phase.arrived + threads > phase.wanted:
            already = f" after {phase.arrived}" if phase.arrived else ""
            raise MisuseError(
                f"{many} arrive{'s' * one} at {name}[{key[1]}]{already}, whose phase ends with "
                f"{phase.wanted}",
                player.name,
                i,
                "let T.alloc_barrier count the threads that arrive in each phase",
            )
        self._note(player, i, f"arrive {name}[{key[1]}], {many}")
        _join(phase.clock, player.clock)
        phase.arrived += threads
        if phase.arrived == phase.wanted:
            self._end(key, phase, i)
        return True

    def _end(self, key: tuple[str, int], phase: Phase, i: Instr) -> None:
        for role, step, wait in phase.passed:
            if phase.clock.get(role, 0) < step:
                raise MisuseError(
                    f"the wait for {key[0]}[{key[1]}] may miss the phase that it waits for",
                    role,
                    wait,
                    "the next phase may end before this wait is over: the arrivals for it must "
                    "come after an arrival of this role",
                )
        phase.passed, phase.arrived = [], 0
        phase.done += 1
        _join(phase.ended, phase.clock)
        phase.ended[key] = phase.done
        phase.clock = {}

    def _do_meet(self, player: Player, i: Instr) -> bool:
        if player.met % 2 == 0:  # odd while it waits
            player.met += 1
            _join(self.meetings.setdefault(player.met, {}), player.clock)
        if any(p.met < player.met for p in self.players):
            return False
        _join(player.clock, self.meetings[player.met])
        player.met += 1
        return self._note(player, i, "barrier of the block")

    # -- memory

    def _do_access(self, player: Player, i: Instr) -> bool:
        reads, writes = i.args
        self._note(player, i, _told(reads, writes, player.env))
        until = (player.name, player.clock[player.name])
        self._touch(player, i, reads, writes, until)
        return True

    def _do_issue(self, player: Player, i: Instr) -> bool:
        engine, onto, index, reads, writes = i.args
        if index is not None:
            at = index(player.env)
            phase = self._phase(player, i, onto, at)
            self._note(player, i, f"copy to {_places(writes, player.env)} onto {onto}[{at}]")
            until: tuple[Any, int] = ((onto, at), phase.done + 1)
            self._touch(player, i, reads, writes, until)
            return True
        what = "product" if isinstance(i.stmt.body[0], Gemm) else "copy"  # type: ignore[attr-defined]  # an Issue
        self._note(player, i, f"start a {what}: {_told(reads, writes, player.env)}")
        flight = Flight([], engine)
        player.flights.append(flight)
        until = (("flight", id(flight)), 1)
        flight.accesses = self._touch(player, i, reads, writes, until)
        return True

    def _do_commit(self, player: Player, i: Instr) -> bool:
        engine, token = i.args
        number = player.groups[engine] = player.groups.get(engine, 0) + 1
        for flight in player.flights:
            if flight.engine == engine and flight.group < 0:
                flight.group = number
        player.tokens.setdefault(token, []).append((engine, number))
        player.at += 1
        return True

    def _do_settle_token(self, player: Player, i: Instr) -> bool:
        token, back, read = i.args
        closed = player.tokens.get(token, [])
        if back < len(closed):
            engine, number = closed[-1 - back]
            self._settled(player, engine, number, read)
        player.at += 1
        return True

    def _do_settle(self, player: Player, i: Instr) -> bool:
        engine, pending, read = i.args
        self._note(player, i, f"wait for all but {pending} groups of {engine}")
        self._settled(player, engine, player.groups.get(engine, 0) - pending, read)
        return True

    def _settled(self, player: Player, engine: str, last: int, read: bool) -> None:
        """Groups up to a number are over, or done with their operands."""
        player.clock[player.name] += 1
        for flight in list(player.flights):
            if flight.engine != engine or not 0 <= flight.group <= last:
                continue
            for access in flight.accesses:
                if not read or not access.write:
                    access.until = (player.name, player.clock[player.name])
            if not read:
                player.flights.remove(flight)

    def _touch(
        self,
        player: Player,
        i: Instr,
        reads: tuple[Touch, ...],
        writes: tuple[Touch, ...],
        until: tuple[Any, int],
    ) -> list[Access]:
        made = []
        for touches, write in ((reads, False), (writes, True)):
            for touch in touches:
                box = touch.box(player.env)
                access = Access(player.name, box, write, touch.exact, i, until)
                self._check(player, touch.buffer, access)
                made.append((touch.buffer, access))
        for buffer, access in made:
            self._keep(player, buffer, access)
        return [access for _, access in made]

    def _check(self, player: Player, buffer: str, new: Access) -> None:
        filled = buffer in self.program.filled
        for old in self.memory.get(buffer, ()):
            if not _meet(old.box, new.box):
                continue
            filled = filled or old.write
            if (old.write or new.write) and not self._over(player, old, new):
                raise self._clash(buffer, old, new)
        if not (new.write or filled) and new.exact:
            raise MisuseError(
                f"{_at(buffer, new.box)} is read before anything was put there",
                new.role,
                new.instr,
                "wait for the phase in which it is filled: is the parity right, and the index of "
                "the slot the one that was waited for?",
            )

    def _over(self, player: Player, old: Access, new: Access) -> bool:
        """Whether an earlier access is surely over where a role now makes another."""
        part, reached = old.until
        if old.role == new.role and part == old.role:
            return True  # in order within a role; its threads meet where they have to
        return player.clock.get(part, 0) >= reached

    def _clash(self, buffer: str, old: Access, new: Access) -> MisuseError:
        place = _at(buffer, new.box)
        line = f" (line {old.instr.span.line})" if old.instr.span is not None else ""
        who = "it" if old.role == new.role else _name(old.role)
        if old.instr.op == "issue" and isinstance(old.instr.stmt.body[0], Gemm):  # type: ignore[attr-defined]  # an Issue
            who = f"a product of {_name(old.role)}"
        flying = old.instr.op == "issue" and old.until[0] != old.role
        sure = old.exact and new.exact
        does = "overwrites" if new.write else "reads"
        if flying and old.write and new.write:
            message = f"{_name(new.role)} overwrites {place} while a copy{line} may still fill it"
            fix = "before a slot is filled anew wait until those who read it have arrived"
        elif flying and old.write:
            message = f"{_name(new.role)} reads {place} while a copy{line} may still fill it"
            fix = "wait for the barrier onto which the copy completes, with the parity of its phase"
        elif new.write and not old.write:
            message = f"{_name(new.role)} overwrites {place} while {who}{line} may still read it"
            fix = "wait for an arrival that comes after the last read of the slot"
        else:
            message = f"{_name(new.role)} {does} {place} while {who}{line} may still write it"
            fix = "let the writer arrive at a barrier after writing, and wait for that phase"
        return MisuseError(message, new.role, new.instr, fix, sure)

    def _keep(self, player: Player, buffer: str, new: Access) -> None:
        """Note an access; what all later ones will know to be over need not be kept, but that it
        was written."""
        kept = self.memory.setdefault(buffer, [])
        for k, old in enumerate(kept):
            same = old.box == new.box and old.role == new.role and old.write == new.write
            if same and old.instr is new.instr and self._over(player, old, new):
                kept[k] = new
                return
        kept.append(new)


def _join(to: Clock, other: Clock) -> None:
    for key, value in other.items():
        if to.get(key, 0) < value:
            to[key] = value


def _meet(a: Box, c: Box) -> bool:
    return all(x[0] < y[1] and y[0] < x[1] for x, y in zip(a, c, strict=True))


def _places(touches: tuple[Touch, ...], env: dict[Expr, int]) -> str:
    return ", ".join(dict.fromkeys(_at(t.buffer, t.box(env)) for t in touches))


def _told(reads: tuple[Touch, ...], writes: tuple[Touch, ...], env: dict[Expr, int]) -> str:
    parts = (("read", reads), ("write", writes))
    return ", ".join(f"{verb} {_places(touches, env)}" for verb, touches in parts if touches)


def _at(buffer: str, box: Box) -> str:
    """A box as a program would write it, less its whole inner axes."""
    lead = []
    for low, high in box:
        if high - low != 1:
            break
        lead.append(str(low))
    return f"{buffer}[{', '.join(lead)}]" if lead else buffer


def _name(role: str) -> str:
    return f"role {role}" if role else "the kernel"
