"""Skip a mask where it masks nothing: a branch for the whole tile around a selection per element.

A mask compares affine indices, so where the comparison holds at the worst corner of the tile it
holds everywhere, and the statement stores what is there already. Most tiles of a causal or ragged
loop are of this kind. A value computed in the same statement is computed first and masked in place
afterwards. Results are the same bit by bit.

    before:
        func @f(A: global f32[64, 64], C: global f32[64, 64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc S: fragment f32[64, 64]
              for j in (0, 8, 1) serial {
                copy A[:, :] -> S[:, :]
                parallel (r, c) in (64, 64) {
                  store S[r, c] = select(j * 16 + c < r + 100, S[r, c], -inf)
                }
                copy S[:, :] -> C[:, :]
              }
            }
          }
        }
    after:
        func @f(A: global f32[64, 64], C: global f32[64, 64]) {
          kernel @f {
            tiles (bx) in (1) {
              alloc S: fragment f32[64, 64]
              for j in (0, 8, 1) serial {
                copy A[:, :] -> S[:, :]
                if j * 16 > 36 {
                  parallel (r, c) in (64, 64) {
                    store S[r, c] = select(j * 16 + c < r + 100, S[r, c], -inf)
                  }
                }
                copy S[:, :] -> C[:, :]
              }
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Call, Const, Expr, Load, Select, loads, walk
from tile_ir.ops import If, Parallel, Store
from tile_ir.rewrite import declared, map_bodies, replace, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.corners import Corners, negated
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.model import Plan

_KEPT = ("fragment", "shared")
"""Where an element that is not stored again is what it was: nobody else writes there."""

Held = frozenset[Expr]
"""Conditions of the branches around a place."""


class _Masks:
    """Holds what does not change during the pass: declarations and the fact traversal."""

    def __init__(self, fn: Function) -> None:
        self.buffers = declared(fn)
        self.walk = FactWalk.of(fn)

    def body(self, body: Body, facts: Facts, held: Held) -> Body:
        """Rewrite one body and those in it."""
        out: list[Stmt] = []
        for stmt in body:
            out.extend(self.stmt(stmt, facts, held))
            facts = self.walk.after(stmt, facts)
        same = len(out) == len(body) and all(x is y for x, y in zip(out, body, strict=True))
        return body if same else tuple(out)

    def stmt(self, stmt: Stmt, facts: Facts, held: Held) -> Body:
        """One statement: what stands for it."""
        if isinstance(stmt, Parallel):
            return self._masked(stmt, facts, held) or (stmt,)
        if isinstance(stmt, If):
            yes = no = facts
            if self.walk.stable(stmt.cond):
                yes, no = facts.assume(stmt.cond), facts.assume_not(stmt.cond)
            then = self.body(stmt.then, yes, held | {stmt.cond})
            orelse = self.body(stmt.orelse, no, held | {negated(stmt.cond)})
            return (replace(stmt, then=then, orelse=orelse),)
        inside = self.walk.inside(stmt, facts)
        return (map_bodies(stmt, lambda inner: self.body(inner, inside, held)),)

    def _masked(self, loop: Parallel, facts: Facts, held: Held) -> Body | None:
        """The loop under a branch, None where that is not possible or not worth it."""
        store = loop.body[0] if len(loop.body) == 1 else None
        if len(loop.vars) < 2 or not isinstance(store, Store):
            return None  # a thread has an element or two of a row: as cheap as the branch
        value = store.value
        if not isinstance(value, Select) or self._scope(store.buffer) not in _KEPT:
            return None
        corners = Corners.of(loop, self.walk.inside(loop, facts), self._uniform)
        options = (
            (corners.always(value.cond), value.t, value.f),
            (corners.never(value.cond), value.f, value.t),
        )
        for skip, kept, other in options:
            if skip is None or isinstance(skip, Const) or negated(skip) in held:
                continue
            made = self._skipped(loop, store, kept, other, negated(skip))
            if made is not None:
                return made
        return None

    def _skipped(
        self, loop: Parallel, store: Store, kept: Expr, other: Expr, guard: Expr
    ) -> Body | None:
        """The loop under `guard`, when `kept`, the value elsewhere, is there already or can be put
        there first."""
        value = store.value
        here = Load(store.buffer, store.indices, value.dtype, store.slot)
        if kept is here:
            return (If(cond=guard, then=(loop,), span=loop.span),)
        if not self._total(kept, loop) or any(x.buffer == store.buffer for x in loads(other)):
            return None
        assert isinstance(value, Select)
        t, f = (here, value.f) if kept is value.t else (value.t, here)
        masked = replace(store, value=Select(value.cond, t, f, value.dtype))
        first = replace(loop, body=(replace(store, value=kept),))
        return (first, If(cond=guard, then=(replace(loop, body=(masked,)),), span=loop.span))

    def _uniform(self, e: Expr) -> bool:
        """Whether all threads get the same value of `e`, at any time in the loop."""
        if any(isinstance(n, Call) for n in walk(e)) or not self.walk.stable(e):
            return False
        return all(self._scope(x.buffer) == "global" for x in loads(e))

    def _total(self, e: Expr, loop: Parallel) -> bool:
        """Whether `e` is a computed value that exists for every element: no address in it, and no
        integer division, depends on the mask."""
        if isinstance(e, (Const, Load)):
            return False  # as cheap as the selection
        exact = all(
            not isinstance(n, Binary) or n.a.dtype.is_float or n.op in ("add", "sub", "mul")
            for n in walk(e)
        )
        return exact and all(
            self._scope(x.buffer) == "fragment" and all(i in loop.vars for i in x.indices)
            for x in loads(e)
        )

    def _scope(self, name: str) -> str:
        return self.buffers[name].scope


def skip_masks(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Put selections that change nothing in most tiles under a branch."""
    if scheduled_by_hand(fn):
        return fn
    body = _Masks(fn).body(fn.body, Facts.of_dims(fn.dims), frozenset())
    return with_body(fn, body)


PASS = Pass(name="skip-masks", phase="legalize", rewrite=skip_masks, doc=__doc__)
