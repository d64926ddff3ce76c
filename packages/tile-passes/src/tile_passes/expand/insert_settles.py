"""Close every issued product into a named group and wait for it as late as its effects allow.

A product in flight is settled just before the first statement that touches its result or overwrites
an operand, and the slots it reads are released just after. Products of one engine finish in order,
so accumulating ones need no wait between them; then the wait that releases the slots lags by one
iteration, and one product is always in flight.

    pipeline: insert-settles
    before:
        func @twice(C: global f32[64, 64]) stage scheduled {
          kernel @twice {
            tiles (bx) in (1) {
              alloc A_l: fragment f16[64, 16]
              alloc B_s: shared f16[16, 64]
              alloc C_l: fragment f32[64, 64]
              issue mma {
                gemm A_l[:, :], B_s[:, :] -> C_l[:, :] init = true
              }
              fill B_s[:, :], f16(0.0)
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
    after:
        func @twice(C: global f32[64, 64]) {
          kernel @twice {
            tiles (bx) in (1) {
              alloc A_l: fragment f16[64, 16]
              alloc B_s: shared f16[16, 64]
              alloc C_l: fragment f32[64, 64]
              issue mma {
                gemm A_l[:, :], B_s[:, :] -> C_l[:, :] init = true
              }
              group mma -> t_C_l
              settle t_C_l
              fill B_s[:, :], f16(0.0)
              copy C_l[:, :] -> C[:, :]
            }
          }
        }
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const
from tile_ir.opdef import bodies
from tile_ir.ops import (
    BULK,
    MATRIX,
    RUNS,
    Acquire,
    BarrierArrive,
    Channel,
    CommitGroup,
    For,
    Gemm,
    Group,
    If,
    Issue,
    Parallel,
    Release,
    Settle,
    SettleCount,
    Wait,
)
from tile_ir.rewrite import declared, map_bodies, walk, with_body
from tile_ir.rewrite import replace as with_fields
from tile_passes.analysis.dependence import aliases, touches
from tile_passes.base import Pass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.core import Function
    from tile_ir.diag import Span
    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_passes.base import PassContext
    from tile_passes.plan.model import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Flight:
    """A product that may be in flight: its group, its operands, the releases that wait for it.

    `cond` is the condition under which it was issued at all, None for always.
    """

    token: str
    sources: frozenset[str]
    result: str
    channels: frozenset[str]
    releases: tuple[Release, ...] = ()
    cond: Expr | None = None
    by_hand: bool = False
    """Whether the kernel itself waits for it before it tells others."""

    def hinders(self, stmt: Stmt, homes: Mapping[str, str]) -> bool:
        """Whether it must settle before `stmt`; `sources` and `result` are named by `homes`."""
        if isinstance(stmt, Issue) and stmt.engine in (BULK, RUNS):  # the kernel's own copies
            touched = touches(stmt.body[0], homes)
            return any(n in touched and touched[n].writes for n in self.sources)
        if isinstance(stmt, Issue):
            inner = stmt.body[0]
            if stmt.engine != MATRIX or not isinstance(inner, Gemm):
                return False
            a, b, c = (homes.get(r.buffer, r.buffer) for r in (inner.a, inner.b, inner.c))
            return self.result in (a, b) or c in self.sources
        touched = touches(stmt, homes)
        if self.result in touched:
            return True
        return any(touched[n].writes for n in self.sources if n in touched)

    def rewritten_by(self, stmt: Stmt, homes: Mapping[str, str], registers: frozenset[str]) -> bool:
        """Whether `stmt` writes what it takes from registers."""
        touched = touches(stmt, homes)
        return any(n in touched and touched[n].writes for n in self.sources & registers)

    def pending(self, channel: str) -> int:
        """Slots of a channel that it keeps."""
        return sum(r.channel == channel for r in self.releases)


Flights = tuple[Flight, ...]
"""In the order of issue."""


def _signature(flights: Flights) -> list[tuple[str, list[str]]]:
    return [(f.token, [r.channel for r in f.releases]) for f in flights]


class _Settling:
    """Walks the statements of one function with what is in flight."""

    def __init__(self, fn: Function) -> None:
        self.depths = {s.name: s.depth for s in walk(fn.body) if isinstance(s, Channel)}
        self.homes = aliases(fn.body)
        self.registers = frozenset(
            self.homes.get(b.name, b.name) for b in declared(fn).values() if b.scope == "fragment"
        )
        self.tokens: dict[tuple[str, str, str], str] = {}

    def token(self, gemm: Gemm) -> str:
        """The name of the groups of a product; copies of one statement share it."""
        key = (gemm.a.buffer, gemm.b.buffer, gemm.c.buffer)
        taken = sum(k[2] == key[2] for k in self.tokens if k != key)
        stem = f"t_{gemm.c.buffer}"
        return self.tokens.setdefault(key, f"{stem}_{taken}" if taken else stem)

    def body(self, body: Body, flights: Flights) -> tuple[list[Stmt], Flights]:
        """The statements with groups and settles, and what is in flight after them."""
        out: list[Stmt] = []
        for stmt in body:
            flights = self.stmt(stmt, flights, out)
        return out, flights

    def stmt(self, stmt: Stmt, flights: Flights, out: list[Stmt]) -> Flights:
        """Append one statement."""
        if isinstance(stmt, Release):
            return self._release(stmt, flights, out)
        if isinstance(stmt, (Wait, Acquire)):
            flights = self._make_room(stmt, flights, out)
        elif isinstance(stmt, BarrierArrive):
            flights = self._before_arrival(flights, out, stmt.span)
        elif isinstance(stmt, (CommitGroup, SettleCount)) and stmt.engine == MATRIX:
            return self._by_hand(stmt, flights, out)
        elif isinstance(stmt, For):
            return self._loop(stmt, flights, out)
        elif isinstance(stmt, If):
            return self._branch(stmt, flights, out)
        elif bodies(stmt) and not isinstance(stmt, (Parallel, Issue)):
            self.settle(flights, len(flights), out, stmt.span)
            out.append(map_bodies(stmt, self.closed))
            return ()
        else:
            flights = self._settle_for(stmt, flights, out)
        out.append(stmt)
        if isinstance(stmt, Issue) and stmt.engine == MATRIX:
            return (*flights, self._issued(stmt, out))
        return flights

    def closed(self, body: Body) -> Body:
        """A body that nothing enters or leaves in flight."""
        out, flights = self.body(body, ())
        self.settle(flights, len(flights), out, None)
        if len(out) == len(body) and all(x is y for x, y in zip(out, body, strict=True)):
            return body
        return tuple(out)

    def _issued(self, stmt: Issue, out: list[Stmt]) -> Flight:
        gemm = stmt.body[0]
        assert isinstance(gemm, Gemm)
        token = self.token(gemm)
        out.append(Group(engine=stmt.engine, token=token, span=stmt.span))
        slots = (r.slot for r in (gemm.a, gemm.b) if r.slot is not None)
        return Flight(
            token=token,
            sources=frozenset(self.homes.get(r.buffer, r.buffer) for r in (gemm.a, gemm.b)),
            result=self.homes.get(gemm.c.buffer, gemm.c.buffer),
            channels=frozenset(s.channel for s in slots),
        )

    def _release(self, stmt: Release, flights: Flights, out: list[Stmt]) -> Flights:
        """A slot that a product in flight reads is released when that settles."""
        readers = [i for i, f in enumerate(flights) if stmt.channel in f.channels]
        if not readers:
            out.append(stmt)
            return flights
        last = readers[-1]
        held = replace(flights[last], releases=(*flights[last].releases, stmt))
        return (*flights[:last], held, *flights[last + 1 :])

    def _make_room(self, stmt: Wait | Acquire, flights: Flights, out: list[Stmt]) -> Flights:
        """Products in flight never keep all slots of a channel that this role waits for."""
        channel = stmt.channel
        while sum(f.pending(channel) for f in flights) >= self.depths.get(channel, 1):
            first = next(i for i, f in enumerate(flights) if f.pending(channel))
            flights = self.settle(flights, first + 1, out, stmt.span)
        return flights

    def _before_arrival(self, flights: Flights, out: list[Stmt], span: Span | None) -> Flights:
        """Others may overwrite operands when they see an arrival; products that the kernel itself
        waits for are its own business."""
        planned = [i for i, f in enumerate(flights) if not f.by_hand]
        return self.settle(flights, planned[-1] + 1, out, span) if planned else flights

    def _by_hand(
        self, stmt: CommitGroup | SettleCount, flights: Flights, out: list[Stmt]
    ) -> Flights:
        """A group or a wait of the kernel's own: the group is there already."""
        if isinstance(stmt, CommitGroup):
            return (*flights[:-1], replace(flights[-1], by_hand=True)) if flights else flights
        out.append(stmt)
        return flights[max(len(flights) - stmt.pending, 0) :]

    def _settle_for(self, stmt: Stmt, flights: Flights, out: list[Stmt]) -> Flights:
        hit = [i for i, f in enumerate(flights) if f.hinders(stmt, self.homes)]
        return self.settle(flights, hit[-1] + 1, out, stmt.span) if hit else flights

    def settle(self, flights: Flights, count: int, out: list[Stmt], span: Span | None) -> Flights:
        """Settle the oldest `count` products and release what they kept."""
        done, rest = flights[:count], flights[count:]
        made: list[tuple[Expr | None, Stmt]] = []
        for i, f in enumerate(done):
            if i + 1 == len(done) or done[-1].cond not in (None, f.cond):
                back = sum(g.token == f.token for g in flights[i + 1 :])
                made.append((f.cond, Settle(token=f.token, back=back, span=span)))
        made += [(f.cond, r) for f in done for r in f.releases]
        for cond, group in groupby(made, key=lambda pair: pair[0]):
            out.extend(_guarded(cond, tuple(s for _, s in group)))
        return rest

    # -- control flow

    def _branch(self, stmt: If, flights: Flights, out: list[Stmt]) -> Flights:
        flights = self._settle_for(stmt, flights, out)
        out.append(map_bodies(stmt, self.closed))
        return flights

    def _iteration(self, loop: For, flights: Flights) -> tuple[list[Stmt], Flights]:
        """One iteration, and what is in flight after it.

        What the next one would settle first, to fill its registers anew beside a younger product,
        settles here: a compiler that has to follow both over the edge of the loop gives up.
        """
        out, after = self.body(loop.body, flights)
        count = self._refilled(loop.body, after)
        if 0 < count < len(after):
            after = self.settle(after, count, out, loop.span)
        return out, after

    def _refilled(self, body: Body, flights: Flights) -> int:
        """How many of the oldest settle in `body` before the first product, for their registers."""
        count = 0
        for stmt in body:
            if isinstance(stmt, Issue) and stmt.engine == MATRIX:
                break
            hit = [
                i for i, f in enumerate(flights) if f.rewritten_by(stmt, self.homes, self.registers)
            ]
            count = max(count, hit[-1] + 1 if hit else 0)
        return count

    def _loop(self, loop: For, flights: Flights, out: list[Stmt]) -> Flights:
        inside, after = self._iteration(loop, flights)
        if _signature(after) == _signature(flights):  # as it enters, so it leaves
            out.append(with_fields(loop, body=_same(loop.body, inside)))
            return flights
        self.settle(flights, len(flights), out, loop.span)
        alone, produced = self._iteration(loop, ())
        if not produced:
            out.append(with_fields(loop, body=tuple(alone)))
            return ()
        upward = isinstance(loop.step, Const) and loop.step.value > 0
        later = b.gt(loop.var, loop.start) if upward else b.lt(loop.var, loop.start)
        ever = b.lt(loop.start, loop.stop) if upward else b.gt(loop.start, loop.stop)
        carried = tuple(replace(f, cond=later) for f in produced)
        steady, left = self._iteration(loop, carried)
        old = [f for f in left if f.cond is later]
        sure = all(f.cond is None for f in produced)
        if not sure or _signature(left[len(old) :]) != _signature(produced):
            self.settle(produced, len(produced), alone, loop.span)
            out.append(with_fields(loop, body=tuple(alone)))
            return ()
        if any(f.releases for f in old):
            self.settle(left, len(old), steady, loop.span)
        out.append(with_fields(loop, body=tuple(steady)))
        cond = None if isinstance(ever, Const) and ever.value else ever
        return tuple(replace(f, cond=cond) for f in produced)


def _same(old: Body, new: list[Stmt]) -> Body:
    same = len(new) == len(old) and all(x is y for x, y in zip(new, old, strict=True))
    return old if same else tuple(new)


def _guarded(cond: Expr | None, body: Body) -> Body:
    if not body or cond is None:
        return body
    return (If(cond=cond, then=body, span=body[0].span),)


def insert_settles(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Name the groups of issued products and settle them."""
    if not any(isinstance(s, (CommitGroup, Issue)) and s.engine == MATRIX for s in walk(fn.body)):
        return fn
    return with_body(fn, _Settling(fn).closed(fn.body))


PASS = Pass(
    name="insert-settles",
    phase="expand",
    rewrite=insert_settles,
    requires=("scheduled",),
    doc=__doc__,
)
