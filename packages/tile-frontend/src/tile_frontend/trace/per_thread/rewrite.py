"""Statements that name a thread run once for each thread of the block: iterations of a parallel
loop that gives one to every thread.

Threads go statement by statement. A run of statements in which they do not meet in memory becomes
one loop; where they meet, the loop ends, so that what comes next finds what all have done. Values
of a thread's own get an axis of threads in front. A branch that only some threads take, with such a
place in it, becomes statements under a condition that is kept for every thread; a loop whose bounds
differ by thread becomes one over the trips of any.

What names no thread is left to the block: it is done once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from tile_frontend.trace.per_thread.affine import bounds
from tile_frontend.trace.per_thread.elements import by_elements
from tile_frontend.trace.per_thread.meetings import Meetings, Touch, changing, touches
from tile_frontend.trace.per_thread.reach import check_reach
from tile_frontend.trace.per_thread.segments import Segment
from tile_frontend.trace.per_thread.values import Values
from tile_frontend.trace.per_thread.varying import Varying, varying
from tile_ir import build as b
from tile_ir.diag import TileError
from tile_ir.expr import Const, Load, Var
from tile_ir.opdef import bodies
from tile_ir.ops import (
    Alloc,
    Assert,
    Assume,
    Atomic,
    Break,
    CallExtern,
    Continue,
    Copy,
    Fill,
    For,
    If,
    Let,
    Native,
    Print,
    Reduce,
    Shuffle,
    Store,
    Sync,
    View,
    WarpReduce,
    While,
)
from tile_ir.rewrite import map_bodies, map_stmts, replace, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt

__all__ = ["per_thread", "without_warp_syncs"]

_BY_A_THREAD = (
    Alloc, Assert, Assume, Atomic, Break, CallExtern, Continue, For, If, Let, Native, Print, Store,
    While,
)  # fmt: skip
"""What one thread can do."""
_TOGETHER = "all threads of the block do it together"


def per_thread(
    body: Body,
    threads: int,
    buffers: Mapping[str, Buffer],
    fresh: Callable[[str], str],
    idle: Mapping[str, Expr],
) -> Body:
    """A tile body in which no statement names a thread.

    Args:
        body: what a kernel was traced to.
        threads: threads of a block.
        buffers: every buffer that the body may use, by name.
        fresh: gives a name that nothing else has.
        idle: what threads that do not take part hand to exchanges, by the scalar handed over.

    Raises:
        TileError: E1521 for what all threads do together, in a branch or loop of some threads or
            with operands that differ by thread.
    """
    known = varying(body, buffers, idle)
    if not known.vars and not known.private and not any(known.touches(s) for s in body):
        return body
    made = _PerThread(threads, known, fresh, idle)
    return made.body(made.in_elements(body), None)


def without_warp_syncs(body: Body) -> Body:
    """A body in which each thread has a program of its own, or none: nothing waits for a warp."""
    return map_stmts(body, lambda s: () if isinstance(s, Sync) and s.scope == "warp" else None)


def _refuse(s: Stmt, what: str, why: str, fix: str) -> NoReturn:
    raise TileError("E1521", what, s.span, notes=(why,), help=fix)


def _leaves(s: Stmt) -> bool:
    """Whether a statement may leave a loop that it stands in."""
    return any(
        isinstance(t, (Break, Continue)) or (not isinstance(t, (For, While)) and _leaves(t))
        for body in bodies(s)
        for t in body
    )


_MOVE_OUT = "move it out of the branch or loop, so that all threads come to it"


@dataclass
class _PerThread:
    threads: int
    varying: Varying
    fresh: Callable[[str], str]
    idle: Mapping[str, Expr]
    roots: dict[str, str] = field(default_factory=dict)
    inside: int = 0
    """How many branches and loops stand around."""

    def __post_init__(self) -> None:
        scopes = {n: x.scope for n, x in self.varying.buffers.items()}
        on_chip = frozenset(n for n, scope in scopes.items() if scope in ("shared", "fragment"))
        self.values = Values(self.threads, self.varying, self.fresh)
        self.on_chip = Meetings(self.varying, self.threads, on_chip)
        self.anywhere = Meetings(self.varying, self.threads, frozenset(scopes))

    # -- before

    def in_elements(self, body: Body) -> Body:
        """The body with what threads copy and fill by themselves as loops."""
        for s in walk(body):
            if isinstance(s, View):
                self.roots[s.buffer.name] = self.roots.get(s.source, s.source)

        def visit(s: Stmt) -> Stmt | None:
            if isinstance(s, (Copy, Fill)) and self.varying.touches(s):
                return by_elements(s, self.varying.buffers, self.fresh)
            return None

        return map_stmts(body, visit)

    # -- statements of the block, or of the threads for which `mask` holds

    def body(self, body: Body, mask: str | None) -> Body:
        """Statements that the block runs, for a body that all its threads come to; with `mask`,
        only those in which that scalar holds."""
        segment = Segment(self.values, self.on_chip, self.anywhere, self.roots)
        for s in body:
            self.stmt(s, mask, segment)
        return segment.done()

    def stmt(self, s: Stmt, mask: str | None, segment: Segment) -> None:
        """Add what one statement becomes."""
        if isinstance(s, Sync):
            self._sync(s, mask, segment)
        elif isinstance(s, (Alloc, View)):
            segment.declare(self.values.declared(s))
        elif isinstance(s, (Shuffle, WarpReduce)) or (mask is None and self._counts(s)):
            segment.together(self.values.exchange(s))
        elif not self._by_threads(s, mask):
            if mask is not None and not isinstance(s, Let):
                self._not_together(s)
            segment.together(s)
        elif bodies(s):
            self._compound(s, mask, segment)
        else:
            self._leaf(s, mask, segment)

    def _counts(self, s: Stmt) -> bool:
        """Whether a reduction is of one value of each thread, for the block."""
        return isinstance(s, Reduce) and s.src.buffer in self.idle

    def _by_threads(self, s: Stmt, mask: str | None) -> bool:
        """Whether threads run the statement, or a part of it."""
        if mask is not None and not isinstance(s, Let):
            return isinstance(s, _BY_A_THREAD)
        if not self.varying.touches(s):
            return any(isinstance(t, Sync) and t.scope == "warp" for t in walk((s,)))
        if not isinstance(s, _BY_A_THREAD):
            self._not_together(s)
        return True

    def _not_together(self, s: Stmt) -> NoReturn:
        _refuse(
            s,
            "a statement of the whole block depends on a thread",
            _TOGETHER,
            f"{_MOVE_OUT}; T.copy and T.fill may have operands of a thread, other tile operations "
            "and T.Parallel may not",
        )

    def _sync(self, s: Sync, mask: str | None, segment: Segment) -> None:
        if s.scope == "warp":
            segment.flush()
            return
        if mask is not None:
            _refuse(
                s,
                "a barrier of the block stands where only some threads come",
                "it waits for all threads of the block",
                _MOVE_OUT,
            )
        segment.together(s)

    def _leaf(self, s: Stmt, mask: str | None, segment: Segment) -> None:
        if not self.inside and mask is None:
            check_reach(s, self.threads, self.varying.buffers)
        if isinstance(s, (Break, Continue)):
            if mask is not None:
                _refuse(
                    s,
                    "some threads leave a loop in which threads wait for each other",
                    "the others would wait for them",
                    "let all threads make the same trips, and guard the work with `if`",
                )
            segment.together(s)
            return
        if isinstance(s, Store) and s.buffer in self.idle and mask is not None:
            segment.add(replace(s, value=self.idle[s.buffer]), None)
        if isinstance(s, Let):
            alloc, s = self.values.kept(s)
            segment.declare(alloc)
        if isinstance(s, Atomic) and s.result is not None:
            self._returned(s, mask, segment)
            return
        found = touches(s, self.varying, self.roots)
        if isinstance(s, Store) and self.anywhere.any(found, set()):
            s = self._in_two(s, mask, segment)
        segment.add(s, mask)

    def _returned(self, s: Atomic, mask: str | None, segment: Segment) -> None:
        """An update whose old value every thread keeps."""
        assert s.result is not None  # the caller asked
        got = Var(self.fresh(s.result.name), s.result.dtype)
        alloc, keep, self.values.stands[s.result] = self.values.scalar(s.result.name, got, s)
        segment.declare(alloc)
        segment.add(replace(s, result=got), mask)
        segment.add(keep, mask)

    def _in_two(self, s: Store, mask: str | None, segment: Segment) -> Store:
        """All threads read before any writes."""
        alloc, first, value = self.values.scalar("value", s.value, s)
        segment.declare(alloc)
        segment.add(first, mask)
        segment.flush()
        return replace(s, value=value)

    # -- branches and loops

    def _compound(self, s: Stmt, mask: str | None, segment: Segment) -> None:
        if self._at_once(s, apart=mask is not None):
            segment.add(s, mask)
            return
        self.inside += 1
        self._taken_apart(s, mask, segment)
        self.inside -= 1

    def _taken_apart(self, s: Stmt, mask: str | None, segment: Segment) -> None:
        if isinstance(s, If) and self.varying.expr(s.cond):
            self._branch(s, mask, segment)
        elif isinstance(s, For) and self.varying.operands(s):
            self._trips(s, mask, segment)
        elif isinstance(s, While) and self.varying.expr(s.cond):
            _refuse(
                s,
                "threads meet in a `while` loop that they leave at different times",
                "a barrier, an exchange or shared memory needs all threads in every trip",
                "let the condition be the same in all threads, for instance by T.syncthreads_or",
            )
        else:
            segment.together(map_bodies(s, lambda inner: self.body(inner, mask)))

    def _once(self, s: Stmt, *, apart: bool) -> bool:
        """Whether something inside is done once for the block, not by each thread."""
        if isinstance(s, (Store, Atomic, Print)) and not apart:
            return not self.varying.touches(s)
        if isinstance(s, (If, While, For)):
            apart = apart or self.varying.operands(s)
        return any(self._once(t, apart=apart) for body in bodies(s) for t in body)

    def _at_once(self, s: Stmt, *, apart: bool) -> bool:
        """Whether threads run all of the statement without waiting for each other."""
        inside = tuple(walk((s,)))
        if not all(isinstance(t, _BY_A_THREAD) for t in inside):
            return False
        if any(isinstance(t, Store) and t.buffer in self.idle for t in inside):
            return False
        if not isinstance(s, (For, While)) and _leaves(s):
            return False
        made = [t.buffer for t in inside if isinstance(t, Alloc)]
        if any(x.name not in self.varying.private for x in made) or self._once(s, apart=apart):
            return False
        found: list[Touch] = touches(s, self.varying, self.roots)
        return not self.on_chip.any(found, changing(s))

    def _branch(self, s: If, mask: str | None, segment: Segment) -> None:
        then = self._mask(s.cond, mask, s, segment)
        segment.extend(self.body(s.then, then))
        if s.orelse:
            other = b.logical_not(self.values.read(then))
            orelse = self._mask(other, mask, s, segment)
            segment.extend(self.body(s.orelse, orelse))

    def _mask(self, cond: Expr, outer: str | None, s: Stmt, segment: Segment) -> str:
        """Keep for every thread whether it takes part."""
        if outer is not None:
            cond = b.land(self.values.read(outer), cond)
        alloc, store, value = self.values.scalar("takes_part", cond, s)
        segment.declare(alloc)
        segment.add(store, None)
        assert isinstance(value, Load)
        return value.buffer

    def _trips(self, s: For, mask: str | None, segment: Segment) -> None:
        """A loop over the trips of any thread; one that has no such trip sits it out."""
        uniform = self.values.is_uniform
        step = int(s.step.value) if isinstance(s.step, Const) else 0
        first, last = (s.start, s.stop) if step > 0 else (s.stop, s.start)
        low = bounds(first, self.threads, uniform)
        high = bounds(last, self.threads, uniform)
        if low is None or high is None or not step:
            _refuse(
                s,
                "threads meet in a loop whose bounds differ by thread in an unknown way",
                "all threads have to make the same trips for it",
                "loop over trips that are the same in all threads, and guard the work with `if`",
            )
        zero, one = b.const(0, s.var.dtype), b.const(1, s.var.dtype)
        span = b.sub(high[1], low[0])
        trip = Var(self.fresh("trip"), s.var.dtype)
        value = b.add(s.start, b.mul(trip, step))
        inner = Segment(self.values, self.on_chip, self.anywhere, self.roots)
        here = b.lt(value, s.stop) if step > 0 else b.gt(value, s.stop)
        with self.values.standing_for(s.var, value):
            takes_part = self._mask(here, mask, s, inner)
            inner.extend(self.body(s.body, takes_part))
        trips = b.ceildiv(span, abs(step))
        body = inner.done()
        segment.together(For(var=trip, start=zero, stop=trips, step=one, body=body, span=s.span))
