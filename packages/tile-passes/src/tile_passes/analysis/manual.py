"""Kernels that say themselves who does what and who waits for whom.

Roles with threads of their own, counted barriers and copies that are started by hand mark such a
kernel. It is planned as it is written: no pipeline, no roles of the planner's. Layouts, memory and
instructions are still chosen, for the threads of the role that a statement stands in.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.clusters import of_peers
from tile_ir.opdef import READ, WRITE
from tile_ir.ops import (
    BULK,
    RUNS,
    BarrierArrive,
    BarrierExpect,
    Barriers,
    BarrierWait,
    Combine,
    CommitGroup,
    Copy,
    Issue,
    Role,
    SettleCount,
    Tiles,
)
from tile_ir.rewrite import effects, map_stmts, replace, walk

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Kernel
    from tile_ir.target import CopyEngine, TargetSpec

__all__ = [
    "brought_for_others",
    "copy_of",
    "engine_of",
    "has_means",
    "is_manual",
    "threads_at",
    "with_engines",
]

_MARKS = (Barriers, BarrierArrive, BarrierExpect, BarrierWait, CommitGroup)
"""What no planned program has before it is one thread's."""


def is_manual(body: Body) -> bool:
    """Whether a tile body has roles, barriers or copies in flight of the user's."""
    return any(
        isinstance(s, _MARKS)
        or (of_peers(s) and not isinstance(s, Combine))  # planned, unlike the user's own
        or (isinstance(s, Role) and s.threads > 0)
        or (isinstance(s, Issue) and s.engine in (BULK, RUNS))
        for s in walk(body)
    )


def threads_at(kernel: Kernel, path: tuple[int, ...]) -> int:
    """The threads that run the statement at a path of the tile body: its role's, or all."""
    tiles = next((s for s in kernel.body if isinstance(s, Tiles)), None)
    if tiles is not None and path and path[0] < len(tiles.body):
        role = tiles.body[path[0]]
        if isinstance(role, Role) and role.threads:
            return role.threads
    return prod(kernel.threads)


def has_means(spec: TargetSpec) -> bool:
    """Whether the target has barriers that count arrivals and the bytes of copy engines."""
    return any(x.kind == "phase" and x.transactions for x in spec.barriers.values())


def engine_of(name: str, spec: TargetSpec, *, loads: bool) -> CopyEngine | None:
    """The target's engine that does what `bulk` or `runs` mean, None where it has none."""
    way = ("global", "shared") if loads else ("shared", "global")
    for engine in spec.engines(*way):
        if name == BULK and engine.elect and engine.completion == _ENDS[loads]:
            return engine
        runs = engine.bytes and not engine.elect and engine.completion == "counted"
        if name == RUNS and runs and not engine.lane_linear:
            return engine
    return None


_ENDS = {True: "barrier", False: "counted"}
"""How the end of a box's copy is seen: loads by a barrier, stores by counting."""


def with_engines(body: Body, spec: TargetSpec) -> Body:
    """The body with engines by the target's names."""

    def named(s: Stmt) -> Stmt | None:
        if isinstance(s, Issue) and s.engine in (BULK, RUNS):
            loads = s.engine == RUNS or s.index is not None
            engine = engine_of(s.engine, spec, loads=loads)
        elif isinstance(s, (CommitGroup, SettleCount)) and s.engine in (BULK, RUNS):
            engine = engine_of(s.engine, spec, loads=s.engine == RUNS)
        else:
            return None
        return None if engine is None else replace(s, engine=engine.name)

    return map_stmts(body, named)


def brought_for_others(body: Body) -> frozenset[str]:
    """The buffers that an engine fills for one role and other roles read: the kernel's own barriers
    order that, and no barrier of a role's threads has to."""
    roles = [s for s in walk(body) if isinstance(s, Role)]
    brought: set[str] = set()
    looked: set[str] = set()
    for role in roles:
        issued = [s for s in walk(role.body) if isinstance(s, Issue) and s.index is not None]
        inside = {id(t) for s in issued for t in s.body}
        mine = {e.buffer for s in issued for t in s.body for e in effects(t) if e.access is WRITE}
        brought |= mine
        for s in walk(role.body):
            if id(s) in inside:
                continue
            touched = tuple(effects(s))
            looked |= {e.buffer for e in touched if e.access is not READ or e.buffer in mine}
    return frozenset(brought - looked)


def copy_of(s: Issue) -> Copy:
    """The copy that an issue of the user's starts."""
    (copy,) = s.body
    assert isinstance(copy, Copy)  # the verifier's rule for these engines
    return copy
