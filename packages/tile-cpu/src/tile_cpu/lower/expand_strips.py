"""Apply the strips of the Plan: a job becomes a run of tiles, and kept blocks get slots.

    before:  tiles (bx, by) in (nx, ny) {
               for k in (0, n, 1) { copy B[k * 32 : +32, bx * 64 : +64] -> B_s[:, :] ... } }
    after:   tiles (bx, strip) in (nx, strips) {
               alloc B_s: shared f32[min(ceildiv(K, 32), 16) + 1, 32, 64]
               var B_s_filled = 0
               for by in (strip * length, min((strip + 1) * length, ny), 1) {
                 for k in (0, n, 1) {
                   if k >= B_s_filled {
                     copy B[...] -> B_s[min(k, 16), :, :]
                     B_s_filled = min(k + 1, 16) } ... } } }

Trips beyond the last slot share one that is filled every time. A block that serves the whole tile
is copied in front of the strip's loop. Strips are as many as keep all workers busy to the end.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_cpu.plan.plan_strips import NO_STRIP, Resident, resident_key, residents, strip_key
from tile_ir import build as b
from tile_ir import expr as ex
from tile_ir.core import Buffer, Range, Region, Stage
from tile_ir.expr import Call, Const, Expr, Load, Var, free_vars
from tile_ir.layout import TileLayout
from tile_ir.layout.base import OFFSET, Axis
from tile_ir.layout.digits import Digit
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Alloc, Assume, Copy, For, If, Kernel, Let, Store, Tiles
from tile_ir.rewrite import (
    bound_vars,
    declared,
    map_bodies,
    map_exprs,
    map_stmts,
    replace,
    stmt_exprs,
    walk,
    with_body,
)
from tile_ir.types import i32
from tile_passes.base import Pass, PassContext
from tile_passes.lower.context import ZERO
from tile_passes.lower.reductions import ONE
from tile_passes.naming import Names

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "expand_strips"]

SPREAD = 2
"""Strips per worker along one axis when the other axes do not give every worker the same number of
jobs.
"""
MANY = 4
"""Jobs per worker from which an uneven last round no longer matters."""


@dataclass(slots=True)
class _Strip:
    """The rewriting of one kernel along one axis."""

    names: Names
    along: Var
    kept: dict[str, Resident]
    slots: dict[str, int]
    first: set[str] = field(default_factory=set)
    """Blocks that are copied once, before the strip's first tile."""
    filled: dict[str, Buffer] = field(default_factory=dict)
    caps: dict[str, Expr] = field(default_factory=dict)
    cap_vars: dict[str, Expr] = field(default_factory=dict)

    def tiles(self, s: Tiles) -> Tiles:
        """The tile loop over strips."""
        at = s.vars.index(self.along)
        count = s.extents[at]
        others = [e for i, e in enumerate(s.extents) if i != at]
        strip = self.names.var("strip")
        strips = _strip_count(count, others)
        length = self.names.var("length")
        head: list[Stmt] = [Let(var=length, value=b.ceildiv(count, strips), span=s.span)]
        inside = {v for x in walk(s.body) for v in bound_vars(x)}
        self.first = {n for n, r in self.kept.items() if _stands_alone(r, inside)}
        head += self._declare(s)
        known = Assume(cond=b.ge(self.along, 0), span=s.span)
        body = (known, *self._rewritten(s.body))
        first = b.mul(strip, length)
        tiles = For(
            var=self.along,
            start=first,
            stop=b.minimum(b.add(first, length), count),
            step=ONE,
            body=body,
            span=s.span,
        )
        vars_ = tuple(strip if v is self.along else v for v in s.vars)
        extents = tuple(strips if i == at else e for i, e in enumerate(s.extents))
        return replace(s, vars=vars_, extents=extents, claim="static", body=(*head, tiles))

    def _declare(self, s: Tiles) -> list[Stmt]:
        """Slots, and how many of them are filled, at the head of the strip."""
        out: list[Stmt] = []
        for name, r in self.kept.items():
            if name in self.first:
                out += [Alloc(buffer=r.buffer, span=r.copy.span), r.copy]
                continue
            filled = Buffer(
                name=self.names.fresh(f"{name}_filled"), dtype=i32, shape=(), scope="var"
            )
            self.filled[name] = filled
            if r.loop is not None:
                assert r.source is not None
                cap = b.minimum(b.ceildiv(r.source, r.step), self.slots[name])
                var = self.names.var(f"{name}_slots", cap.dtype)
                self.caps[name], self.cap_vars[name] = cap, var
                out.append(Let(var=var, value=cap, span=r.copy.span))
            out += [
                Alloc(buffer=self._buffer(r), span=r.copy.span),
                Alloc(buffer=filled, span=r.copy.span),
                Store(buffer=filled.name, indices=(), value=ZERO, span=r.copy.span),
            ]
        return out

    def _buffer(self, r: Resident) -> Buffer:
        if r.loop is None:
            return r.buffer
        shape = (b.add(self.caps[r.buffer.name], 1), *r.buffer.shape)
        layout = _with_slots(r.buffer, shape[0])
        return dataclasses.replace(r.buffer, scope="shared", shape=shape, layout=layout)

    def _slot(self, r: Resident) -> Expr | None:
        if r.loop is None:
            return None
        return b.minimum(r.loop.var, self.cap_vars[r.buffer.name])

    def _rewritten(self, body: Body) -> Body:
        slots = {name: self._slot(r) for name, r in self.kept.items()}
        memo: dict[Expr, Expr] = {}

        def load(e: Expr) -> Expr | None:
            if isinstance(e, Load) and slots.get(e.buffer) is not None:
                slot = slots[e.buffer]
                assert slot is not None
                return Load(e.buffer, (slot, *e.indices), e.dtype, e.slot)
            return None

        def visit(s: Stmt) -> Stmt | Body | None:
            if isinstance(s, Alloc) and s.buffer.name in self.kept:
                return ()
            made = map_exprs(s, lambda e: ex.rewrite(e, load, memo))
            made = _slotted(made, slots)
            if isinstance(made, Copy) and made.dst.buffer in self.kept:
                return () if made.dst.buffer in self.first else self._once(made)
            return made

        return map_stmts(body, visit)

    def _once(self, s: Copy) -> Stmt:
        """The copy, where its slot is not filled yet."""
        name = s.dst.buffer
        r, filled = self.kept[name], self.filled[name]
        have = Load(filled.name, (), i32)
        trip: Expr = ZERO if r.loop is None else r.loop.var
        now: Expr = ONE
        if r.loop is not None:
            now = b.minimum(b.add(trip, 1), self.cap_vars[name])
        done = Store(buffer=filled.name, indices=(), value=b.cast(now, i32), span=s.span)
        return If(cond=b.ge(trip, have), then=(s, done), span=s.span)


def _stands_alone(r: Resident, inside: set[Var]) -> bool:
    """Whether a copy for the whole tile needs nothing that is named in the tile."""
    return r.loop is None and not any(free_vars(e) & inside for e in stmt_exprs(r.copy))


def _slotted(s: Stmt, slots: dict[str, Expr | None]) -> Stmt:
    """The statement with slots in front of its regions."""
    changes = {}
    for f in opdef(s).of_kind("operand"):
        value = getattr(s, f.name)
        slot = slots.get(value.buffer) if isinstance(value, Region) else None
        if slot is not None:
            changes[f.name] = Region(value.buffer, (Range(slot, ONE), *value.ranges), value.slot)
    return replace(s, **changes) if changes else s


def _with_slots(buffer: Buffer, count: Expr) -> TileLayout | None:
    """The layout of one slot after another; a number of slots that is not known runs on along the
    last digit.
    """
    layout = buffer.layout
    if not isinstance(layout, TileLayout):
        return None
    size = layout.cosize()
    slots = int(count.value) if isinstance(count, Const) else 1
    return TileLayout(inputs=(Axis("slot", (Digit(slots, OFFSET, size),)), *layout.inputs))


def _strip_count(count: Expr, others: list[Expr]) -> Expr:
    """One strip where the other axes divide evenly among the workers, or are many; else several
    for each worker.
    """
    workers = Call("device_workers", (), i32)
    jobs: Expr = ONE
    for e in others:
        jobs = b.mul(jobs, e)
    even = b.eq(b.truncmod(jobs, workers), 0)
    enough = b.ge(jobs, b.mul(workers, MANY))
    return b.minimum(count, b.select(b.lor(even, enough), 1, b.mul(workers, SPREAD)))


def expand_strips(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Apply `KERNEL.tiles.strip` and `KERNEL.BUFFER.resident` to every kernel."""
    buffers, names = declared(fn), Names.of(fn)

    def visit(s: Stmt) -> Stmt | None:
        if not isinstance(s, Kernel):
            return None
        value = plan.value(strip_key(s), NO_STRIP)
        tiles = next((t for t in s.body if isinstance(t, Tiles)), None)
        along = next((v for v in tiles.vars if v.name == value), None) if tiles else None
        if tiles is None or along is None:
            return None
        kept = {r.buffer.name: r for r in residents(s, buffers, along)}
        slots = {n: int(str(plan.value(resident_key(s, n), 1))) for n in kept}
        strip = _Strip(names, along, kept, slots)
        made = strip.tiles(tiles)
        return map_bodies(s, lambda body: tuple(made if x is tiles else x for x in body))

    body = map_stmts(fn.body, visit)
    made = with_body(fn, body)
    return made if made is fn else dataclasses.replace(made, stage=Stage.SCHEDULED)


PASS = Pass(name="expand-strips", phase="expand", rewrite=expand_strips, doc=__doc__)
