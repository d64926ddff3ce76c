"""Channels, judged along the control flow: ends, accesses outside a held slot, elected releases.

Each role is followed with the most slots of each channel that it may hold. Where control flow
joins, the larger count survives; a violation is reported only where no execution could be legal, so
that a right program is never refused. The exact proof is a pass's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir import ops
from tile_ir.core import Stage
from tile_ir.opdef import bodies, opdef
from tile_ir.rewrite import effects, walk

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.expr import Slot
    from tile_ir.opdef import Body, Stmt
    from tile_ir.verify.report import Report

_TAKES = (ops.Acquire, ops.Wait)
_GIVES = (ops.Commit, ops.Release)
_SETTLES = (ops.Settle, ops.SettleCount, ops.Sync)
_LOOPS = (ops.For, ops.While, ops.Tiles)
_PRODUCER_OPS = (ops.Acquire, ops.Commit)

End = tuple[str, bool]
"""A channel and whether its producer end is meant."""


@dataclass(slots=True)
class Held:
    """What a role may hold: per end the most slots; the channels read since the last settlement."""

    most: dict[End, int] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()

    def copy(self) -> Held:
        """An independent copy."""
        return Held(dict(self.most), self.unsettled)

    def join(self, other: Held) -> Held:
        """What holds on either of two paths: the most slots, and only what is unsettled on both."""
        ends = self.most.keys() | other.most.keys()
        most = {e: max(self.most.get(e, 0), other.most.get(e, 0)) for e in ends}
        return Held(most, self.unsettled & other.unsettled)


class _Walk:
    """Follows one role (or a kernel without roles) through its statements."""

    def __init__(
        self, channels: dict[str, ops.Channel], role: ops.Role | None, report: Report
    ) -> None:
        self.channels = channels
        self.role = role
        self.report = report
        self.quiet = False

    def body(self, body: Body, held: Held) -> Held:
        for stmt in body:
            held = self.stmt(stmt, held)
        return held

    def stmt(self, stmt: Stmt, held: Held) -> Held:
        outer = self.report.span
        self.report.span = stmt.span or outer
        if isinstance(stmt, (*_TAKES, *_GIVES)):
            self.step(stmt, held)
        elif isinstance(stmt, _SETTLES):
            held.unsettled = frozenset()
        else:
            self.accesses(stmt, held)
            held = self.inside(stmt, held)
        self.report.span = outer
        return held

    def inside(self, stmt: Stmt, held: Held) -> Held:
        inner = bodies(stmt)
        if not inner or isinstance(stmt, ops.Role):
            return held
        if isinstance(stmt, ops.If):
            return self.body(stmt.then, held.copy()).join(self.body(stmt.orelse, held.copy()))
        if not isinstance(stmt, _LOOPS):
            return self.body(inner[0], held)
        # Until nothing new is held at the head; the count is bounded by the depths, so this ends.
        while True:
            quiet, self.quiet = self.quiet, True
            again = held.join(self.body(inner[0], held.copy()))
            self.quiet = quiet
            if again.most == held.most and again.unsettled == held.unsettled:
                break
            held = again
        return held.join(self.body(inner[0], held.copy()))

    def step(self, stmt: Stmt, held: Held) -> None:
        name: str = stmt.channel  # type: ignore[attr-defined]  # the four channel ops have it
        channel = self.channels.get(name)
        if channel is None:
            self.say("E0402", f"there is no channel {name} here")
            return
        produces = isinstance(stmt, _PRODUCER_OPS)
        self.end(stmt, channel, produces)
        key = (name, produces)
        now = held.most.get(key, 0)
        if not channel.carries:
            return
        if isinstance(stmt, _TAKES):
            held.most[key] = min(now + 1, channel.depth)
            return
        verb = opdef(stmt).name
        if now == 0:
            taken = "acquire" if produces else "wait"
            self.say("E0462", f"{verb} {name} without a slot held", f"no {taken} {name} before it")
        held.most[key] = max(now - 1, 0)
        if not produces and name in held.unsettled and self.elected(channel):
            self.say(
                "E0466",
                f"release {name} by elected threads while others may still read the slot",
                "between the last read and the release of one thread for all stands a barrier "
                "or a settle",
                fix="put `sync group` before it, or let every thread arrive",
            )

    def elected(self, channel: ops.Channel) -> bool:
        """Whether fewer warps arrive than read, so that one arrival stands for many readers."""
        end = channel.consumer
        warps = self.role.warps if self.role is not None else 0
        return end.kind == "role" and 0 < end.arrivals < warps

    def end(self, stmt: Stmt, channel: ops.Channel, produces: bool) -> None:
        """Each end belongs to one role, or to an engine that needs no statement of ours."""
        end = channel.producer if produces else channel.consumer
        verb = opdef(stmt).name
        if end.kind == "engine" and not produces:
            self.say("E0464", f"{verb} {channel.name}: its consumer is the engine {end.name}")
        elif end.kind == "role" and self.role is not None and self.role.name != end.name:
            self.say("E0464", f"{verb} {channel.name} in role {self.role.name}, not in {end.name}")

    def accesses(self, stmt: Stmt, held: Held) -> None:
        for effect in effects(stmt):
            slot: Slot | None = effect.region.slot
            if slot is None or slot.channel not in self.channels:
                continue
            name = slot.channel
            if max(held.most.get((name, True), 0), held.most.get((name, False), 0)) <= slot.back:
                self.say(
                    "E0462",
                    f"{effect.buffer}@{name} is accessed where no slot of it is held",
                    "a slot is the producer's from acquire to commit, the consumer's from wait to "
                    "release",
                )
            held.unsettled |= {name}

    def say(self, code: str, message: str, *notes: str, fix: str | None = None) -> None:
        if not self.quiet:
            self.report(code, message, *notes, fix=fix)


def check_protocol(fn: Function, report: Report) -> None:
    """Report violations of the channel protocol at stage `scheduled` (E0462, E0464, E0466)."""
    if fn.stage is not Stage.SCHEDULED:
        return
    for kernel in walk(fn.body):
        if isinstance(kernel, ops.Kernel):
            _kernel(kernel, report)


def _kernel(kernel: ops.Kernel, report: Report) -> None:
    inner = tuple(walk(kernel.body))
    channels = {s.name: s for s in inner if isinstance(s, ops.Channel)}
    used: set[tuple[type, str]] = {
        (type(s), s.channel) for s in inner if isinstance(s, (*_TAKES, *_GIVES))
    }
    if not channels and not used:
        return
    roles = [s for s in inner if isinstance(s, ops.Role)]
    for channel in channels.values():
        report.span = channel.span
        _used(channel, used, {r.name for r in roles}, report)
    _Walk(channels, None, report).body(kernel.body, Held())
    for role in roles:
        _Walk(channels, role, report).body(role.body, Held())
    report.span = None


def _used(
    channel: ops.Channel, used: set[tuple[type, str]], roles: set[str], report: Report
) -> None:
    """An end that takes slots gives them back, and a role that is an end exists.

    A channel that carries nothing passes turns: its commits and waits are enough.
    """
    pairs = ((ops.Acquire, ops.Commit, channel.producer), (ops.Wait, ops.Release, channel.consumer))
    for takes, gives, end in pairs:
        took, gave = (takes, channel.name) in used, (gives, channel.name) in used
        if took is not gave and channel.carries:
            there, missing = (takes, gives) if took else (gives, takes)
            report(
                "E0464",
                f"channel {channel.name} has {opdef(there).name} but no {opdef(missing).name}",
            )
        if end.kind == "role" and roles and end.name not in roles:
            report("E0464", f"channel {channel.name} names role {end.name}, which is missing")
