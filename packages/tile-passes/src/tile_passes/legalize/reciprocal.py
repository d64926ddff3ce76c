"""Divide a tile by a row's value once per row, not once per element: multiply by its reciprocal.

A division costs many times a multiplication on every target. Worth it when the divisor does not
depend on the innermost loop variable, so that one reciprocal serves the whole row. Two roundings
instead of one, so only under `default` numerics.

    before:
        func @f(C: global f32[8, 64], D: global f32[8]) {
          kernel @f {
            tiles (bx) in (1) {
              parallel (i, j) in (8, 64) {
                store C[i, j] = C[i, j] / D[i]
              }
            }
          }
        }
    after:
        func @f(C: global f32[8, 64], D: global f32[8]) {
          kernel @f {
            tiles (bx) in (1) {
              parallel (i, j) in (8, 64) {
                store C[i, j] = C[i, j] * (1.0 / D[i])
              }
            }
          }
        }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Var, free_vars, loads, rewrite
from tile_ir.ops import Parallel
from tile_ir.rewrite import map_all_exprs, map_stmts, replace, with_body
from tile_ir.types import f32
from tile_passes.base import Pass, PassContext

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_ir.opdef import Stmt
    from tile_passes.plan.model import Plan


def _reciprocal(e: Expr, inner: Var) -> Expr | None:
    """`x / d` as `x * (1 / d)` when d is a loaded value that does not vary with `inner`."""
    if not (isinstance(e, Binary) and e.op == "div" and e.dtype is f32):
        return None
    if isinstance(e.a, Const) or inner in free_vars(e.b) or inner not in free_vars(e.a):
        return None
    if not loads(e.b):
        return None  # the C compiler folds the reciprocal of what is loop-invariant by itself
    return b.mul(e.a, Binary("div", Const(1.0, f32), e.b, f32))


def reciprocal(fn: Function, cx: PassContext, plan: Plan) -> Function:
    """Replace divisions by row values in parallel loops of two and more axes."""
    if fn.numerics == "strict":
        return fn

    def visit(stmt: Stmt) -> Stmt | None:
        if not isinstance(stmt, Parallel) or len(stmt.vars) < 2:
            return None
        inner = stmt.vars[-1]
        memo: dict[Expr, Expr] = {}
        body = map_all_exprs(stmt.body, lambda e: rewrite(e, lambda n: _reciprocal(n, inner), memo))
        return replace(stmt, body=body)

    return with_body(fn, map_stmts(fn.body, visit))


PASS = Pass(name="reciprocal", phase="legalize", rewrite=reciprocal, doc=__doc__)
