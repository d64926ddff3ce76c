"""Blocks of a kernel: their agents, channels and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.ops import Let
from tile_passes.model.hand import Barrier, barrier_of
from tile_passes.model.machine import Agent, Ring
from tile_passes.model.program import set_tile
from tile_passes.model.steps import Walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tile_ir.opdef import Body
    from tile_ir.ops import Channel, Role
    from tile_ir.target import TargetSpec
    from tile_passes.model.machine import Core, Event, Running
    from tile_passes.model.program import Program
    from tile_passes.model.values import Values

__all__ = ["Block"]


def _ring(program: Program, channel: Channel, groups: Mapping[str, int]) -> Ring:
    """The state of a channel, with how many agents stand at each of its ends."""
    producers, consumers = (
        1 if e.kind == "engine" or e.per_group else max(1, groups.get(e.name, 1))
        for e in (channel.producer, channel.consumer)
    )
    made = Ring(channel.depth, producers, consumers)
    for i in range(channel.filled):
        made.filled[i].time = 0.0
    return made


class Block:
    """One block: its agents and channels."""

    def __init__(
        self,
        core: Core,
        program: Program,
        values: Values,
        tiles: Sequence[int],
        name: str,
        done: Callable[[float], None],
    ) -> None:
        self.core, self.program, self.tiles, self.done = core, program, tiles, done
        self.name = name
        self.rings: dict[tuple[str, int], Ring] = {}
        self.groups = {r.name: _groups(r, program.spec) for r in program.roles}
        self.values = values
        self.meetings: dict[tuple[str, int], tuple[int, float, Event]] = {}
        self.barriers: dict[tuple[str, int], Barrier] = {}
        self.live = 0
        self.last = 0.0
        self.tile_ends: dict[int, float] = {}

    def start(self, at: float) -> None:
        """Start its agents; a tile loop around the roles gives them their tile."""
        outside = self.program.outside
        if outside is not None:
            set_tile(self.values, outside, self.tiles[0])
            for stmt in (s for s in outside.body if isinstance(s, Let)):
                self.values.bound[stmt.var] = self.values.of(stmt.value)
        roles: list[tuple[str, Body, int]] = [
            (r.name, r.body, self.groups[r.name]) for r in self.program.roles
        ] or [("", self.program.body, 1)]
        for name, body, count in roles:
            for g in range(count):
                tail = f" {g}" if count > 1 else ""
                agent = Agent(f"{self.name}{name or 'threads'}{tail}", at, share=1.0 / count)
                agent.run = self._whole(agent, name, body, g, self.values.fork())
                self.live += 1
                self.core.start(agent)

    def _whole(self, agent: Agent, role: str, body: Body, group: int, values: Values) -> Running:
        yield from Walk(self, agent, role, group, values).body(body)
        for _, _, end in agent.flying:
            self.last = max(self.last, end)
        self.live -= 1
        self.last = max(self.last, agent.now)
        if not self.live:
            self.done(self.last)

    def barrier(self, name: str, index: int) -> Barrier | None:
        """A barrier of the user's; None for those that the compiler declares for itself."""
        declared = self.program.barriers.get(name)
        if declared is None:
            return None
        if (name, index) not in self.barriers:
            self.barriers[name, index] = barrier_of(declared, index)
        return self.barriers[name, index]

    def threads(self, role: str) -> float:
        """Threads of one agent of a role."""
        found = next((r for r in self.program.roles if r.name == role), None)
        if found is None:
            return float(self.program.threads)
        width = max(self.program.spec.warp_width, 1)
        return 1.0 if found.elect else (found.threads or found.warps * width) / self.groups[role]

    def ring(self, name: str, group: int) -> Ring:
        """A channel as a group of threads sees it."""
        channel = self.program.channels[name]
        own = group if channel.producer.per_group or channel.consumer.per_group else 0
        key = (name, own)
        if key not in self.rings:
            self.rings[key] = _ring(self.program, channel, self.groups)
        return self.rings[key]


def _groups(role: Role, spec: TargetSpec) -> int:
    """Agents of a role: groups of warps that issue matrix instructions together."""
    if role.elect:
        return 1
    warps = role.warps or role.threads // max(spec.warp_width, 1)
    return max(1, warps // max(spec.group_warps, 1))
