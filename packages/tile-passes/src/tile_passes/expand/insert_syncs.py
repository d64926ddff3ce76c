"""Put a barrier between accesses of different threads to one piece of shared memory, and fences
between its proxies.

Threads of a role write and read shared buffers at their own pace. A barrier stands before a
statement that reads what was written since the last barrier, or overwrites what was read or
written; before a loop where only what was there before it is to be waited for. Slots of channels
need none against their other end; buffers whose bytes overlap are one another's. Where an engine
looks at memory through a proxy of its own, a fence goes before the barrier that follows an ordinary
write.

    pipeline: insert-syncs
    before:
        func @reverse(A: global f32[64], B: global f32[64]) stage scheduled {
          kernel @reverse threads = (64) {
            tiles (bx) in (1) {
              alloc s: shared f32[64]
              copy A[:] -> s[:]
              parallel (i) in (64) {
                store B[i] = s[63 - i]
              }
            }
          }
        }
    after:
        func @reverse(A: global f32[64], B: global f32[64]) {
          kernel @reverse threads = (64) {
            tiles (bx) in (1) {
              alloc s: shared f32[64]
              copy A[:] -> s[:]
              sync block
              parallel (i) in (64) {
                store B[i] = s[63 - i]
              }
            }
          }
        }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.opdef import Access, bodies
from tile_ir.ops import (
    Acquire,
    Alloc,
    Channel,
    Fence,
    For,
    If,
    Issue,
    Kernel,
    Parallel,
    Role,
    Sync,
    Tiles,
    Wait,
    While,
)
from tile_ir.rewrite import declared, effects, map_bodies, walk, with_body
from tile_ir.rewrite import replace as with_fields
from tile_passes.analysis.dependence import aliases
from tile_passes.analysis.manual import brought_for_others
from tile_passes.base import Pass
from tile_passes.plan.cost import copy_bytes

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan

GENERIC, ASYNC = "generic", "async"


@dataclass(frozen=True, slots=True)
class Dirty:
    """Shared memory read and written since the last barrier, and written since the last fence."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    unfenced: frozenset[str] = frozenset()

    def join(self, other: Dirty) -> Dirty:
        """What may be on either of two paths."""
        return Dirty(
            self.reads | other.reads, self.writes | other.writes, self.unfenced | other.unfenced
        )


class _Syncs:
    """Walks one function; `scope` is the barrier of the threads that run the statements."""

    def __init__(self, fn: Function, fences: bool) -> None:
        buffers = declared(fn)
        self.fences = fences
        channels = [s for s in walk(fn.body) if isinstance(s, Channel)]
        self.emptied = {c.name: c.carries for c in channels if c.consumer.kind == "engine"}
        """What threads put before an engine, by channel."""
        apart = (c.carries for c in channels if c.name in self.emptied and c.producer.per_group)
        self.apart = frozenset(n for carries in apart for n in carries)
        """What each group of warps has rows of its own of."""
        carried = {n for c in channels if c.name not in self.emptied for n in c.carries}
        carried |= brought_for_others(fn.body)
        self.meetings = {c.name for c in channels if _by_threads(c)}
        """Channels that threads fill for themselves: they meet when they wait for a slot."""
        self.homes = aliases(fn.body)
        self.near = _overlaps(fn)
        self.shared = {n for n, b in buffers.items() if b.scope == "shared"} - carried
        self.scope = "block"
        self.shared_tiles = False
        """Whether a block runs several tiles, one after another in the same memory."""

    def body(self, body: Body, dirty: Dirty) -> tuple[Body, Dirty]:
        out: list[Stmt] = []
        for stmt in body:
            dirty = self.stmt(stmt, dirty, out)
        same = len(out) == len(body) and all(x is y for x, y in zip(out, body, strict=True))
        return (body if same else tuple(out)), dirty

    def stmt(self, stmt: Stmt, dirty: Dirty, out: list[Stmt]) -> Dirty:
        if isinstance(stmt, Sync) or (isinstance(stmt, Wait) and stmt.channel in self.meetings):
            out.append(stmt)
            return Dirty(unfenced=dirty.unfenced)
        if isinstance(stmt, Fence):
            out.append(stmt)
            return Dirty(dirty.reads, dirty.writes)
        if isinstance(stmt, Acquire) and stmt.channel in self.emptied:
            out.append(stmt)  # it is a barrier for the slot: whoever waited, all may write
            freed = {self.homes.get(n, n) for n in self.emptied[stmt.channel]}
            return Dirty(dirty.reads - freed, dirty.writes - freed, dirty.unfenced)
        if bodies(stmt) and not isinstance(stmt, (Parallel, Issue)):
            return self.nested(stmt, dirty, out)
        reads, writes = self.touched(stmt)
        dirty = self._barrier(stmt, reads, writes, dirty, out)
        out.append(stmt)
        if isinstance(
            stmt, Issue
        ):  # a settle waits for this warp's part only: others may still read
            return Dirty(dirty.reads | reads, dirty.writes, dirty.unfenced)
        return Dirty(dirty.reads | reads, dirty.writes | writes, dirty.unfenced | writes)

    def _barrier(
        self,
        stmt: Stmt,
        reads: frozenset[str],
        writes: frozenset[str],
        dirty: Dirty,
        out: list[Stmt],
    ) -> Dirty:
        near = self.over(reads | writes)
        fence = self.fences and isinstance(stmt, Issue) and near & dirty.unfenced
        clash = near & dirty.writes or self.over(writes) & dirty.reads
        if fence:
            out.append(Fence(before=GENERIC, after=ASYNC, span=stmt.span))
            dirty = Dirty(dirty.reads, dirty.writes)
        if (clash or fence) and reads | writes <= self.apart and self.scope == "role":
            out.append(Sync(scope="group", span=stmt.span))
            done = reads | writes
            return Dirty(dirty.reads - done, dirty.writes - done, dirty.unfenced)
        if clash or fence:
            out.append(Sync(scope=self.scope, span=stmt.span))
            return Dirty(unfenced=dirty.unfenced)
        return dirty

    def over(self, names: frozenset[str]) -> frozenset[str]:
        """The buffers that have bytes of these."""
        return names.union(*(self.near.get(n, ()) for n in names))

    def nested(self, stmt: Stmt, dirty: Dirty, out: list[Stmt]) -> Dirty:
        if isinstance(stmt, If):
            then, yes = self.body(stmt.then, dirty)
            orelse, no = self.body(stmt.orelse, dirty)
            out.append(with_fields(stmt, then=then, orelse=orelse))
            return yes.join(no)
        if isinstance(stmt, Kernel):
            self.shared_tiles = stmt.blocks is not None
        if isinstance(stmt, (For, While)) or (isinstance(stmt, Tiles) and self.shared_tiles):
            body, left = self.repeated(stmt.body, dirty)
            met = Dirty(unfenced=dirty.unfenced)
            fewer, after = self.repeated(stmt.body, met)
            if dirty != met and _barriers(fewer) < _barriers(body):
                out.append(Sync(scope=self.scope, span=stmt.span))
                body, left = fewer, after
            out.append(with_fields(stmt, body=body))
            return left
        outer = self.scope
        if isinstance(stmt, Role):
            self.scope = "role"
        made = map_bodies(stmt, lambda inner: self.body(inner, Dirty())[0])
        self.scope = outer
        out.append(made)
        return Dirty()

    def repeated(self, body: Body, dirty: Dirty) -> tuple[Body, Dirty]:
        """The body of a loop, and what may be after any number of its iterations."""
        _, once = self.body(body, dirty)
        _, twice = self.body(body, dirty.join(once))
        head = dirty.join(once).join(twice)
        made, after = self.body(body, head)
        return made, head.join(after)

    def touched(self, stmt: Stmt) -> tuple[frozenset[str], frozenset[str]]:
        """The shared memory that a statement reads and writes."""
        reads, writes = set(), set()
        for s in walk((stmt,)):
            for e in effects(s):
                if e.buffer not in self.shared:
                    continue
                home = self.homes.get(e.buffer, e.buffer)
                if e.access & (Access.READ | Access.UPDATE):
                    reads.add(home)
                if e.access & (Access.WRITE | Access.UPDATE):
                    writes.add(home)
        return frozenset(reads), frozenset(writes)


def _barriers(body: Body) -> int:
    return sum(isinstance(s, Sync) for s in walk(body))


def _by_threads(c: Channel) -> bool:
    """Whether the threads at one end of a channel are those at the other."""
    ends = (c.producer, c.consumer)
    return all(e.kind == "role" and not e.per_group for e in ends) and ends[0].name == ends[1].name


def _overlaps(fn: Function) -> dict[str, frozenset[str]]:
    """Of each buffer with an offset, the buffers of its kernel that share bytes with it."""
    near: dict[str, frozenset[str]] = {}
    placed: list[tuple[int, int, str]] = []
    for s in walk(fn.body):
        if isinstance(s, Kernel):
            placed.clear()
        elif isinstance(s, Alloc) and s.buffer.offset is not None:
            name, start = s.buffer.name, s.buffer.offset
            end = start + copy_bytes(s.buffer) * s.buffer.slots
            over = frozenset(n for a, z, n in placed if a < end and start < z)
            near |= {n: near[n] | {name} for n in over}
            near[name] = over | {name}
            placed.append((start, end, name))
    return near


def insert_syncs(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Insert barriers and fences."""
    syncs = _Syncs(fn, ASYNC in cx.target.proxies)
    body, _ = syncs.body(fn.body, Dirty())
    return with_body(fn, body)


PASS = Pass(
    name="insert-syncs",
    phase="expand",
    rewrite=insert_syncs,
    requires=("scheduled",),
    ensures=("synchronized",),
    doc=__doc__,
)
