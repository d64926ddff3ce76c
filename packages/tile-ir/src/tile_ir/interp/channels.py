"""Channels while a program runs: bounded rings of slots, with a count of each step for every
participant.

A ring numbers its fillings 0, 1, 2, ...; filling n lies in slot n % depth. It may be acquired once
filling n - depth was released by every consumer, and waited for once it was committed by every
producer. Contents are poisoned when a slot is freed and when it is acquired, so that who reads too
early or too late reads poison.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.opdef import bodies
from tile_ir.ops import Acquire, Channel, Commit, Kernel, Release, Role, Wait

if TYPE_CHECKING:
    from tile_ir.interp.engines import Operation
    from tile_ir.interp.machine import Env, Participant
    from tile_ir.opdef import Body


@dataclass(slots=True)
class Protocol:
    """Who takes part in the channels of a kernel, from its roles and their statements."""

    groups: dict[str, int] = field(default_factory=dict)
    """Groups of each role; "" stands for a kernel without roles."""
    producers: dict[str, set[str]] = field(default_factory=dict)
    consumers: dict[str, set[str]] = field(default_factory=dict)
    """The roles at each end, by channel."""

    @staticmethod
    def of(kernel: Kernel) -> Protocol:
        """Read the protocol off a kernel."""
        found = Protocol()
        found._scan(kernel.body, "")
        for channel in _channels(kernel.body):
            for end, roles in (
                (channel.producer, found.producers),
                (channel.consumer, found.consumers),
            ):
                if end.kind == "role" and end.name in found.groups:
                    roles.setdefault(channel.name, set()).add(end.name)
        return found

    def _scan(self, body: Body, role: str) -> None:
        for s in body:
            if isinstance(s, (Acquire, Commit)):
                self.producers.setdefault(s.channel, set()).add(role)
            elif isinstance(s, (Wait, Release)):
                self.consumers.setdefault(s.channel, set()).add(role)
            elif isinstance(s, Role):
                self.groups[s.name] = s.groups
            for inner in bodies(s):
                self._scan(inner, s.name if isinstance(s, Role) else role)

    def read_end(self, channel: str, role: str) -> str:
        """Whose cursor a read of a slot by `role` means."""
        only_produces = role in self.producers.get(channel, ()) and role not in self.consumers.get(
            channel, ()
        )
        return "producer" if only_produces else "consumer"

    def write_end(self, channel: str, role: str) -> str:
        """Whose cursor a write to a slot by `role` means."""
        return "producer" if role in self.producers.get(channel, ()) else "consumer"

    def members(self, roles: dict[str, set[str]], channel: str) -> list[Participant]:
        """The threads at one end."""
        names = sorted(roles.get(channel, ()))
        return [(name, g) for name in names for g in range(self.groups.get(name, 1))]


def _channels(body: Body) -> list[Channel]:
    found = [s for s in body if isinstance(s, Channel)]
    for s in body:
        for inner in bodies(s):
            found += _channels(inner)
    return found


class Ring:
    """One channel at run time. The counts are of steps done, by participant."""

    def __init__(
        self, channel: Channel, producers: list[Participant], consumers: list[Participant]
    ) -> None:
        self.channel = channel
        self.filled = channel.filled
        self.acquired = dict.fromkeys(producers, 0)
        self.committed = dict.fromkeys(producers, 0)
        self.waited = dict.fromkeys(consumers, 0)
        self.released = dict.fromkeys(consumers, 0)
        self.freed = 0
        """Fillings whose slots may be used again."""
        self.arriving: dict[int, list[Operation]] = {}
        """Operations that complete into a filling, by its number."""
        self.leaving: deque[list[Operation]] = deque()
        """Operations by which an engine consumes committed fillings, oldest first."""
        self.poisons = True

    @property
    def name(self) -> str:
        """The channel's name."""
        return self.channel.name

    def may_acquire(self, who: Participant) -> bool:
        """Whether a slot is free for the next filling; an engine that consumes is made to finish
        one.
        """
        wanted = self.filled + self.acquired[who] - self.channel.depth
        while self.freed <= wanted and self.leaving:
            for op in self.leaving.popleft():
                op.read()
            self.freed += 1
        return self.freed > wanted

    def acquire(self, env: Env) -> None:
        """Begin a filling."""
        who = env.thread
        number = self.filled + self.acquired[who]
        first = number >= self.filled + max(self.acquired.values())
        self.acquired[who] += 1
        env.cursors[self.name, "producer"] = number + 1
        if first:
            self._poison(env, number)

    def commit(self, env: Env) -> None:
        """Hand the filling over.

        Raises:
            TileError: E0508 when it was not acquired.
        """
        who = env.thread
        if self.committed[who] >= self.acquired[who]:
            raise TileError(
                "E0508",
                f"commit of {self.name} without an acquire before it",
                help=f"put `acquire {self.name}` before what fills the slot, once for each commit",
            )
        self.committed[who] += 1

    def may_wait(self, who: Participant) -> bool:
        """Whether the next filling is committed by all producers."""
        return self.waited[who] < self.filled + min(self.committed.values(), default=0)

    def wait(self, env: Env) -> None:
        """Take the next filling; operations that complete into it are complete now."""
        who = env.thread
        for op in self.arriving.pop(self.waited[who], ()):
            op.finish()
        self.waited[who] += 1
        env.cursors[self.name, "consumer"] = self.waited[who]

    def release(self, env: Env) -> None:
        """Give the oldest filling back.

        Raises:
            TileError: E0508 when none is held.
        """
        who = env.thread
        if self.released[who] >= self.waited[who]:
            raise TileError(
                "E0508",
                f"release of {self.name} without a wait before it",
                help=f"put `wait {self.name}` before what reads the slot, once for each release",
            )
        self.released[who] += 1
        while self.freed < min(self.released.values()):
            self._poison(env, self.freed)
            self.freed += 1

    def attach(self, env: Env, op: Operation) -> None:
        """Let `op` complete into the filling that this thread has acquired last."""
        number = self.filled + self.acquired.get(env.thread, 0) - 1
        self.arriving.setdefault(number, []).append(op)

    def _poison(self, env: Env, number: int) -> None:
        if not (self.poisons and env.run.debug):
            return
        for name in self.channel.carries:
            storage = env.bufs.get(name)
            if storage is None:
                continue
            if self.channel.depth == 1 or storage.array.shape[:1] != (self.channel.depth,):
                if self.channel.depth == 1:
                    storage.poison()
                continue
            storage.poison((number % self.channel.depth,))


def open_ring(env: Env, channel: Channel, protocol: Protocol) -> None:
    """Create the channel's rings in the block: one, or one for each group of a role at both of
    whose ends it is.
    """
    producers = protocol.members(protocol.producers, channel.name)
    consumers = protocol.members(protocol.consumers, channel.name)
    ends = (channel.producer, channel.consumer)
    if not any(e.per_group for e in ends) or any(
        e.kind == "role" and not e.per_group for e in ends
    ):
        env.block.rings[channel.name, 0] = Ring(channel, producers, consumers)
        return
    turns = all(e.kind == "role" for e in ends) and {p[0] for p in producers} == {
        c[0] for c in consumers
    }
    groups = sorted({g for _, g in producers} | {g for _, g in consumers})
    for g in groups:
        sender = (g - 1) % len(groups) if turns else g
        ring = Ring(
            channel,
            [p for p in producers if p[1] == sender],
            [c for c in consumers if c[1] == g],
        )
        ring.filled = channel.filled if g == 0 or not turns else 0
        ring.poisons = len(groups) == 1
        env.block.rings[channel.name, g] = ring


def ring_at(env: Env, name: str, end: str) -> Ring:
    """The ring that a statement of this thread means.

    Raises:
        TileError: E0508 when the channel is not declared here.
    """
    rings = env.block.rings
    only = rings.get((name, 0))
    if only is not None and (name, 1) not in rings:
        return only
    for (channel, _), ring in rings.items():
        counts = ring.acquired if end == "producer" else ring.waited
        if channel == name and env.thread in counts:
            return ring
    raise TileError(
        "E0508",
        f"channel {name} is not declared around this statement",
        help=f"put `channel {name}` before it in the same kernel, with this role as its {end}",
    )
