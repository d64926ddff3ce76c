"""Give what a kernel may read before it waits to a thread of its own.

A thread that starts the copies of an engine is found by its shape: a branch of one thread among the
warps behind the computing ones, with loops over waits, announcements and copies. It becomes two
threads of different warps with the same loops, each with its own copies and its own part of the
announced bytes; a barrier that both announce to has one arrival more. Anything else in there, and
the kernel is left alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Const, Expr, Var, loads
from tile_ir.opdef import bodies
from tile_ir.ops import (
    Alloc,
    BarrierExpect,
    Barriers,
    BarrierWait,
    BoxLoad,
    For,
    If,
    LaunchDependents,
    Let,
    RegisterLimit,
    Store,
    Sync,
    Tiles,
)
from tile_ir.rewrite import replace, stmt_exprs, walk
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Body, Stmt
    from tile_passes.naming import Names

__all__ = ["split_producer"]

WARP = 32
"""Threads between the two that start copies: they are in different warps on every device."""
_ALLOWED = (Alloc, BarrierExpect, BarrierWait, BoxLoad, For, If, Let, Store, Tiles)


class _Other(Exception):
    """The producer has another shape."""


def split_producer(
    prologue: Body,
    rest: Body,
    early: frozenset[str],
    threads: int,
    names: Names,
    buffers: Mapping[str, Buffer],
    wait: Body,
) -> Body | None:
    """`prologue` and `rest` with two threads for the producer, of which the one that loads `early`
    does not wait; None where that is not its shape.

    All other threads `wait` first.
    """
    roles = [s for s in rest if isinstance(s, If)]
    if len(roles) != 1 or any(not isinstance(s, (If, Sync)) for s in rest):
        return None
    (branch,) = roles
    producer = branch.orelse[-1] if branch.orelse else None
    if not isinstance(producer, If) or producer.orelse:
        return None
    if not all(isinstance(s, RegisterLimit) for s in branch.orelse[:-1]):
        return None
    thread = _thread(producer.cond)
    if thread is None or thread[1] + WARP >= threads:
        return None
    split = _Split(early, buffers)
    try:
        first, second = (split.part(producer.then, mine) for mine in (True, False))
    except _Other:
        return None
    if not (_copies(first) and _copies(second)):
        return None
    var, number = thread
    waiting = Binary("eq", var, Const(number + WARP, var.dtype), producer.cond.dtype)
    second = (*wait, LaunchDependents(), *renamed(second, names))
    made = replace(
        branch,
        then=(*wait, *branch.then),
        orelse=(
            *branch.orelse[:-1],
            replace(producer, then=first, orelse=(replace(producer, cond=waiting, then=second),)),
        ),
    )
    counted = tuple(_counted(s, split.shared) for s in prologue)
    return (*counted, *(made if s is branch else s for s in rest))


def _thread(cond: Expr) -> tuple[Var, int] | None:
    """The variable of the thread's number and the number, where the condition compares them."""
    if isinstance(cond, Binary) and cond.op == "eq":
        a, b = cond.a, cond.b
        if isinstance(a, Var) and isinstance(b, Const):
            return a, int(b.value)
    return None


def _copies(body: Body) -> bool:
    return any(isinstance(s, BoxLoad) for s in walk(body))


def _counted(s: Stmt, shared: set[str]) -> Stmt:
    """A barrier that both threads announce to has one arrival more."""
    if not isinstance(s, Barriers) or s.name not in shared:
        return s
    return replace(s, arrivals=s.arrivals + 1, each=tuple(n + 1 for n in s.each))


@dataclass(slots=True)
class _Split:
    """Takes one thread's part of a body; `shared` collects barriers that both announce to."""

    early: frozenset[str]
    buffers: Mapping[str, Buffer]
    shared: set[str] = field(default_factory=set)

    def part(self, body: Body, mine: bool) -> Body:
        """The body with the copies of the early buffers, or with the others."""
        out: list[Stmt] = []
        for i, s in enumerate(body):
            self._check(s, mine)
            if isinstance(s, BoxLoad):
                if (s.src.buffer in self.early) == mine:
                    out.append(s)
            elif isinstance(s, BarrierExpect):
                out.extend(self._announced(s, body[i + 1 :], mine))
            else:
                out.extend(self._inner(s, mine))
        return tuple(out)

    def _inner(self, s: Stmt, mine: bool) -> Body:
        """A statement with its bodies' part; a loop that has nothing left to do goes."""
        if isinstance(s, (For, Tiles)):
            inner = self.part(s.body, mine)
            return (replace(s, body=inner),) if inner else ()
        if isinstance(s, If):
            then, orelse = self.part(s.then, mine), self.part(s.orelse, mine)
            return (replace(s, then=then, orelse=orelse),)
        return (s,)

    def _check(self, s: Stmt, mine: bool) -> None:
        """Raise `_Other` for what a producer of this shape does not do."""
        known = isinstance(s, _ALLOWED) and not getattr(s, "multicast", None)
        if not known or (isinstance(s, BarrierExpect) and s.silent):
            raise _Other
        reads = {load.buffer for e in stmt_exprs(s) for load in loads(e)}
        if mine and any(self.buffers[n].scope == "global" and n not in self.early for n in reads):
            raise _Other

    def _announced(self, s: BarrierExpect, after: Body, mine: bool) -> Body:
        """The announcement of this thread's own bytes, of copies up to the next announcement."""
        end = next((i for i, n in enumerate(after) if _announces(n)), len(after))
        sizes = {True: 0, False: 0}
        for load, times in _with_trips(after[:end], 1):
            if load.barrier != s.barrier or load.index is not s.index:
                raise _Other
            sizes[load.src.buffer in self.early] += times * self._bytes(load.dst)
        if sum(sizes.values()) != s.bytes:
            raise _Other
        if all(sizes.values()):
            self.shared.add(s.barrier)
        return (replace(s, bytes=sizes[mine]),) if sizes[mine] else ()

    def _bytes(self, region: Region) -> int:
        extents = [r.extent for r in region.ranges]
        if not all(isinstance(e, Const) for e in extents):
            raise _Other
        count = prod(int(e.value) for e in extents if isinstance(e, Const))
        return count * self.buffers[region.buffer].dtype.storage_bits // 8


def _announces(s: Stmt) -> bool:
    return any(isinstance(inner, BarrierExpect) for inner in walk((s,)))


def _with_trips(body: Body, times: int) -> list[tuple[BoxLoad, int]]:
    """The copies of a body with how often each is started."""
    found: list[tuple[BoxLoad, int]] = []
    for s in body:
        if isinstance(s, BoxLoad):
            found.append((s, times))
        elif isinstance(s, For):
            ends = (s.start, s.stop, s.step)
            if not all(isinstance(e, Const) for e in ends):
                raise _Other
            start, stop, step = (int(e.value) for e in ends if isinstance(e, Const))
            found += _with_trips(s.body, times * len(range(start, stop, step)))
        elif any(isinstance(inner, BoxLoad) for part in bodies(s) for inner in walk(part)):
            raise _Other
    return found
