"""Remove tiles that nothing reads, with the statements that only fill them.

Normal forms leave such tiles behind (a mask that became a selection, a copy of a statistic). A
statement dies when it writes only dead tiles and does nothing else; one pass is enough to reach the
fixpoint, because liveness is computed as the closure from what the outside can see: global memory,
prints, assertions, control flow.

    before:
        func @f(C: global f32[16]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc x: fragment f32[16]
              alloc y: fragment f32[16]
              fill x[:], 1.0
              copy x[:] -> y[:]
              store C[bx] = 2.0
            }
          }
        }
    after:
        func @f(C: global f32[16]) {
          kernel @f {
            tiles (bx) in (1) {
              store C[bx] = 2.0
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.opdef import Access, Body, Stmt, bodies
from tile_ir.ops import (
    Alloc,
    Copy,
    Fill,
    For,
    Gemm,
    Parallel,
    Reduce,
    Scan,
    Shuffle,
    Store,
    Transpose,
    View,
    WarpReduce,
)
from tile_ir.rewrite import all_effects, declared, effects, map_stmts, walk, with_body
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

_MOVERS = (Copy, Fill, Gemm, Reduce, Scan, Shuffle, Store, Transpose, WarpReduce)
"""Statements whose only work is their writes."""


def _live(fn: Function) -> frozenset[str]:
    buffers = declared(fn)
    live = {name for name, x in buffers.items() if x.scope == "global"}
    aliases = [(s.buffer.name, s.source) for s in walk(fn.body) if isinstance(s, View)]
    flows: list[tuple[set[str], set[str]]] = []
    for stmt in walk(fn.body):
        own = effects(stmt)
        reads = {e.buffer for e in own if e.access & Access.READ}
        writes = {e.buffer for e in own if not e.access & Access.READ}
        if isinstance(stmt, _MOVERS):
            flows.append((writes, reads))
        else:
            live |= reads | writes
    grew = True
    while grew:
        before = len(live)
        for writes, reads in flows:
            if writes & live:
                live |= reads
        for view, source in aliases:
            if view in live or source in live:
                live |= {view, source}
        grew = len(live) > before
    return frozenset(live)


def dead_buffers(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Drop dead allocations and the statements that only write them."""
    live = _live(fn)
    if scheduled_by_hand(fn) or all(name in live for name in declared(fn)):
        return fn

    def drop(stmt: Stmt) -> Body | None:
        if isinstance(stmt, (Alloc, View)):
            return None if stmt.buffer.name in live else ()
        if isinstance(stmt, _MOVERS):
            written = {e.buffer for e in effects(stmt) if e.access != Access.READ}
            return None if written & live else ()
        emptied = isinstance(stmt, (For, Parallel)) and not any(bodies(stmt))
        return () if emptied and not tuple(all_effects((stmt,))) else None

    return with_body(fn, map_stmts(fn.body, drop))


PASS = Pass(name="dead-buffers", phase="legalize", rewrite=dead_buffers, doc=__doc__)
