"""The two ends of a channel in one thread's program: where each is, what tells it of the other, and
how its threads arrive."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.ops import Acquire, BarrierArrive, Barriers, If, Wait
from tile_ir.rewrite import replace, walk
from tile_ir.types import i32
from tile_passes.lower.threads.cursors import Cursor
from tile_passes.lower.threads.roles import role_threads, roles_of

if TYPE_CHECKING:
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_ir.ops import Channel, Kernel, Sync
    from tile_ir.target import TargetSpec
    from tile_passes.naming import Names

__all__ = ["Party", "Ring", "barriers_of", "ring_of"]


@dataclass(frozen=True, slots=True)
class Ring:
    """A channel, how its ends find each other, and where they are."""

    channel: Channel
    counted: bool
    """Whether barriers in memory count, `full` and `empty` for each slot."""
    full: str
    empty: str
    producer: Cursor
    consumer: Cursor
    tail: Cursor
    """Of the slot to be released next, where that is not the one waited for last."""

    @property
    def cursors(self) -> tuple[Cursor, ...]:
        """Of both ends."""
        return self.producer, self.consumer, self.tail


@dataclass(frozen=True, slots=True)
class Party:
    """The threads that run a program: a role's, or all of a block."""

    threads: int
    sync: Sync
    target: TargetSpec
    elected: bool = False
    group_sync: Sync | None = None
    """The barrier of a group of warps, where the party has several."""

    def meeting(self, channel: Channel) -> Sync:
        """The barrier of those who share an end of a channel."""
        if channel.producer.per_group and self.group_sync is not None:
            return self.group_sync
        return self.sync

    def by_one(self, body: Body) -> Body:
        """What one thread of the party does."""
        if self.elected:
            return body
        return (If(cond=b.eq(b.call("thread_index"), 0), then=body, span=body[0].span),)

    def arrive(self, barrier: str, at: Expr, arrivals: int, s: Stmt, blocks: int = 1) -> Body:
        """So many arrivals of the party, each for an equal share of its threads; at the barriers of
        all `blocks` of a cluster."""
        threads = self.threads
        arrive = BarrierArrive(barrier=barrier, index=at, span=s.span)
        share = threads // arrivals if arrivals else 1
        if arrivals and share * arrivals != threads:
            raise InternalError("E9001", f"{arrivals} arrivals of {threads} threads", span=s.span)
        body: Body = (arrive,)
        if blocks > 1:
            body = tuple(replace(arrive, peer=b.const(n, i32)) for n in range(blocks))
        # One thread for all blocks: it has waited for the others of its share, which another had
        # to do again.
        return body if share == 1 else (self._by_share(share, body),)

    def _in_share(self, share: int) -> Expr:
        if share == self.target.warp_width:
            return b.call("lane_index")
        return b.floormod(b.call("thread_index"), share)

    def _by_share(self, share: int, body: Body) -> If:
        """What one thread of every share of the party does."""
        if share == self.target.warp_width:
            cond = b.call("elected")
        else:
            cond = b.eq(self._in_share(share), 0)
        return If(cond=cond, then=body, span=body[0].span)


def ring_of(s: Channel, body: Body, target: TargetSpec, names: Names) -> Ring:
    """The ring of a channel of a kernel's body.

    Raises:
        InternalError: E9001 where the target cannot count, some slots are filled and some not, or
            groups of one role are both ends.
    """
    same = s.producer.kind == s.consumer.kind == "role" and s.producer.name == s.consumer.name
    if same and s.producer.per_group:
        raise InternalError("E9001", f"{s.name} connects groups of {s.producer.name}", span=s.span)
    if s.filled not in (0, s.depth):
        raise InternalError("E9001", f"{s.name} starts with {s.filled} of {s.depth} slots")
    counted = _is_counted(s, body, target)
    if counted and not any(x.kind == "phase" for x in target.barriers.values()):
        raise InternalError("E9001", f"{s.name} needs barriers that count")
    # A wait for the parity that a fresh barrier has not reached yet returns at once.
    free, ready = (0, 1) if s.filled else (1, 0)

    def cursor(end: str, start: int) -> Cursor:
        return Cursor.make(f"{s.name}_{end}", s.depth, names, start=start if counted else None)

    return Ring(
        channel=s,
        counted=counted,
        full=names.fresh(f"{s.name}_full"),
        empty=names.fresh(f"{s.name}_empty"),
        producer=cursor("fill", free),
        consumer=cursor("use", ready),
        tail=Cursor.make(f"{s.name}_free", s.depth, names, start=None),
    )


def _is_counted(s: Channel, body: Body, target: TargetSpec) -> bool:
    if s.consumer.kind == "engine":
        return False
    if s.scope == "cluster":
        return True
    if s.producer.kind == "engine":
        engine = target.copy.get(s.producer.name)
        if engine is not None and engine.completion == "barrier":
            return True
    return _where(Acquire, s.name, body) != _where(Wait, s.name, body)


def _where(op: type[Acquire | Wait], channel: str, body: Body) -> set[str]:
    """The roles in which an operation on a channel stands."""
    return {
        role.name
        for role in roles_of(body)
        if any(isinstance(s, op) and s.channel == channel for s in walk(role.body))
    }


def barriers_of(ring: Ring, kernel: Kernel, target: TargetSpec) -> Body:
    """The declarations of a ring's barriers."""
    s = ring.channel
    scope = "cluster" if s.scope == "cluster" else "block"
    blocks = prod(kernel.cluster) if s.scope == "cluster" else 1
    free = blocks * (s.consumer.arrivals or _threads(s.consumer.name, kernel, target))

    def barriers(name: str, arrivals: int) -> Barriers:
        return Barriers(name=name, count=s.depth, arrivals=arrivals, scope=scope, span=s.span)

    return barriers(ring.full, _fill_arrivals(ring, kernel, target)), barriers(ring.empty, free)


def _fill_arrivals(ring: Ring, kernel: Kernel, target: TargetSpec) -> int:
    """An engine that counts bytes comes with the one arrival that announces them."""
    end = ring.channel.producer
    if end.kind == "role":
        return end.arrivals or _threads(end.name, kernel, target)
    if target.copy[end.name].completion == "barrier":
        return 1
    (filler, *_) = (*_where(Acquire, ring.channel.name, kernel.body), "")
    return _threads(filler, kernel, target)


def _threads(role: str, kernel: Kernel, target: TargetSpec) -> int:
    found = (role_threads(r, target) for r in roles_of(kernel.body) if r.name == role)
    return next(found, prod(kernel.threads))
