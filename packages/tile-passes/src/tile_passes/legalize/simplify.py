"""Fold what the facts decide: conditions, branches, minima, divisions of indices, loops that never
run.

It runs after `bounds`, whose guards often repeat conditions that an enclosing branch already
decided, and again after expansion. An index expression is replaced by its normal form only when
that is shorter, so the user's `by * 128 + i` stays as written.

    before:
        func @f(C: global f32[16]) {
          kernel @f {
            tiles (bx) in (1) {
              for k in (0, 4, 1) serial {
                if k < 8 {
                  store C[k // 4 + bx] = 1.0
                }
              }
            }
          }
        }
    after:
        func @f(C: global f32[16]) {
          kernel @f {
            tiles (bx) in (1) {
              for k in (0, 4, 1) serial {
                store C[bx] = 1.0
              }
            }
          }
        }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Select, Unary, walk
from tile_ir.ops import Assume, For, If
from tile_ir.rewrite import map_exprs, with_body
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.analysis.linear import to_expr
from tile_passes.base import Pass, PassContext
from tile_passes.legalize.schedules import scheduled_by_hand

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Body, Stmt
    from tile_passes.plan.model import Plan

_INDEX_OPS = frozenset(
    ["add", "sub", "mul", "floordiv", "floormod", "ceildiv", "truncdiv", "truncmod", "min", "max"]
)


@dataclass(frozen=True, slots=True)
class _Fold:
    walk: FactWalk

    def visit(self, stmt: Stmt, facts: Facts) -> Stmt | Body | None:
        made = map_exprs(stmt, lambda e: self.expr(e, facts))
        if isinstance(made, If) and isinstance(made.cond, Const):
            return made.then if made.cond.value else made.orelse
        if isinstance(made, Assume) and isinstance(made.cond, Const) and made.cond.value:
            return ()
        if isinstance(made, For) and isinstance(made.step, Const):
            empty = b.ge if made.step.value > 0 else b.le
            if facts.prove(empty(made.start, made.stop)):
                return ()
        return made

    def expr(self, e: Expr, facts: Facts) -> Expr:
        if e.dtype.is_bool and not isinstance(e, Const):
            verdict = facts.prove(e)
            if verdict is not None:
                return Const(verdict, e.dtype)
        if isinstance(e, Binary) and e.op in _INDEX_OPS and e.dtype.is_int and e.dtype.is_signed:
            e = _shorter(e, to_expr(facts.linear(e), e.dtype))
        if isinstance(e, Select):
            return self._select(e, facts)
        old = e.children()
        new = tuple(self.expr(c, facts) for c in old)
        if all(x is y for x, y in zip(old, new, strict=True)):
            return e
        return _refold(e.with_children(new))

    def _select(self, e: Select, facts: Facts) -> Expr:
        cond = self.expr(e.cond, facts)
        yes = no = facts
        if self.walk.stable(cond):
            yes, no = facts.assume(cond), facts.assume_not(cond)
        if isinstance(cond, Const):
            return self.expr(e.t, facts) if cond.value else self.expr(e.f, facts)
        new = (cond, self.expr(e.t, yes), self.expr(e.f, no))
        if all(x is y for x, y in zip(e.children(), new, strict=True)):
            return e
        return Select(*new, e.dtype)


def _shorter(old: Expr, new: Expr) -> Expr:
    return new if len(walk(new)) < len(walk(old)) else old


def _refold(e: Expr) -> Expr:
    """Rebuild through the folding constructors; the operand types already agree."""
    if isinstance(e, Binary):
        return b.binary(e.op, e.a, e.b)
    if isinstance(e, Unary):
        return b.unary(e.op, e.a)
    return e


def simplify(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Fold conditions and index expressions that the facts at their place decide."""
    if scheduled_by_hand(fn):
        return fn
    walk_ = FactWalk.of(fn)
    body = walk_.rewrite(fn.body, Facts.of_dims(fn.dims), _Fold(walk_).visit)
    return with_body(fn, body)


PASS = Pass(name="simplify", phase="legalize", rewrite=simplify, doc=__doc__)
