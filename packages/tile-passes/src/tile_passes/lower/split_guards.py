"""Take conditions on the innermost loop variable out of element loops, by splitting the loop where
they change.

A guard such as `j < N - bx * 64` holds for the first iterations and fails for the others. Two loops
with constant conditions do the same, and both can be vectorized; the second one often has nothing
left to do. Only conditions that decide whether memory is touched are worth a loop: a selection
between values is as cheap as it gets.

    before:  parallel (i, j) in (8, 64) {
               if bx * 64 + j < N { store C[i, bx * 64 + j] = A_l[i, j] } }
    after:   let j_end = max(min(N - bx * 64, 64), 0)
             parallel (i, j) in (8, j_end) { store C[i, bx * 64 + j] = A_l[i, j] }
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir import expr as ex
from tile_ir.expr import Binary, Const, Expr, Select, Unary, Var, free_vars, loads
from tile_ir.opdef import Access, Body, Stmt
from tile_ir.ops import For, If, Let, Parallel
from tile_ir.rewrite import (
    all_effects,
    bound_vars,
    declared,
    map_all_exprs,
    map_stmts,
    replace,
    stmt_exprs,
    substitute,
    walk,
    with_body,
)
from tile_ir.types import bool_
from tile_passes.analysis.context import FactWalk
from tile_passes.analysis.facts import Facts
from tile_passes.base import Pass, PassContext
from tile_passes.lower.affine import at_zero, coefficient
from tile_passes.lower.context import ZERO
from tile_passes.naming import Names
from tile_passes.renaming import renamed

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "split_guards"]

MAX_CUTS = 2
"""Splits of one loop: each may double its text."""
TRUE, FALSE = Const(True, bool_), Const(False, bool_)


@dataclass(frozen=True, slots=True)
class Cut:
    """A condition on axis `axis` that is `below` for iterations before `at` and the opposite from
    there on.
    """

    axis: int
    cond: Expr
    at: Expr
    below: bool


@dataclass(slots=True)
class _Splitter:
    buffers: dict[str, Buffer]
    names: Names

    def visit(self, s: Stmt, facts: Facts) -> Body | None:
        """Split a parallel loop at its guards."""
        if not isinstance(s, Parallel) or not s.vars:
            return None
        cut = self._find(s)
        if cut is not None:
            return self._split(s, cut, facts, MAX_CUTS)
        return None if _acts(s.body) else ()

    def _split(self, s: Parallel, cut: Cut, facts: Facts, budget: int) -> Body:
        """The loop over the iterations below the cut, and the one over those from it on."""
        var, extent = s.vars[cut.axis], s.extents[cut.axis]
        known = facts
        for other, count in zip(s.vars, s.extents, strict=True):
            known = known if other is var else known.bind(other, Const(0, other.dtype), count)
        at = b.cast(self._clamped(cut.at, extent, known), var.dtype)
        lets: Body = ()
        end = at
        if not isinstance(at, (Const, Var)):
            end = self.names.var(f"{var.name}_end", at.dtype)
            lets = (Let(var=end, value=at, span=s.span),)
        later = self.names.var(var.name, var.dtype)
        low = _decided(s.body, cut, cut.below)
        high = _decided(renamed(s.body, self.names), cut, not cut.below)
        high = map_all_exprs(high, substitute({var: b.add(later, end)}))
        halves = ((var, end, low), (later, b.sub(extent, end), high))
        parts = [
            self._half(s, cut.axis, v, count, body)
            for v, count, body in halves
            if _acts(body) and count != ZERO
        ]
        outer = set(s.vars) & free_vars(at)
        if outer and parts:
            return self._under(s, lets, [_innermost(p) for p in parts], facts, budget)
        again = [q for p in parts for q in self._again(p, facts, budget - 1)]
        return (*lets, *again) if parts else ()

    def _half(self, s: Parallel, axis: int, var: Var, count: Expr, body: Body) -> Parallel:
        vars_ = (*s.vars[:axis], var, *s.vars[axis + 1 :])
        extents = (*s.extents[:axis], count, *s.extents[axis + 1 :])
        return replace(s, vars=vars_, extents=extents, body=body)

    def _under(
        self, s: Parallel, lets: Body, parts: list[Parallel], facts: Facts, budget: int
    ) -> Body:
        """Innermost loops whose bounds differ from row to row, under plain loops over the other
        axes.
        """
        again = [q for p in parts for q in self._again(p, facts, budget - 1)]
        body: Body = (*lets, *again)
        for var, extent in zip(reversed(s.vars[:-1]), reversed(s.extents[:-1]), strict=True):
            one = Const(1, var.dtype)
            body = (For(var=var, start=ZERO, stop=extent, step=one, body=body, span=s.span),)
        return body

    def _again(self, s: Parallel, facts: Facts, budget: int) -> Body:
        cut = self._find(s) if budget > 0 else None
        return (s,) if cut is None else self._split(s, cut, facts, budget)

    def _clamped(self, at: Expr, extent: Expr, facts: Facts) -> Expr:
        """`at` within [0, extent], less what is known of it."""
        if facts.prove(b.le(at, extent)) is not True:
            at = b.minimum(at, extent)
        return at if facts.prove(b.ge(at, 0)) is True else b.maximum(at, 0)

    def _find(self, s: Parallel) -> Cut | None:
        """The first condition on one variable that guards memory, the innermost variable first.

        Bounds of the innermost variable may depend on the others; those of the others may not, so
        that they stay axes of one box.
        """
        effects = list(all_effects(s.body))
        written = {e.buffer for e in effects if e.access & (Access.WRITE | Access.UPDATE)}
        bound = {v for inner in walk(s.body) for v in bound_vars(inner)}
        parts = [part for cond in self._guards(s.body) for part in _conjuncts(cond)]
        last = len(s.vars) - 1
        for axis in range(last, -1, -1):
            fixed = bound if axis == last else bound | set(s.vars)
            for part in parts:
                cut = _cut(part, axis, s.vars[axis])
                if cut is None or free_vars(cut.at) & fixed:
                    continue
                if not any(ld.buffer in written for ld in loads(cut.at)):
                    return cut
        return None

    def _guards(self, body: Body) -> list[Expr]:
        found: list[Expr] = []
        for s in walk(body):
            if isinstance(s, If):
                found.append(s.cond)
            for e in stmt_exprs(s):
                selects = (n for n in ex.walk(e) if isinstance(n, Select))
                found += [n.cond for n in selects if self._touches(n.t) or self._touches(n.f)]
        return found

    def _touches(self, e: Expr) -> bool:
        return any(self.buffers[ld.buffer].scope == "global" for ld in loads(e))


def _conjuncts(e: Expr) -> list[Expr]:
    if isinstance(e, Binary) and e.op in ("land", "lor"):
        return [*_conjuncts(e.a), *_conjuncts(e.b)]
    if isinstance(e, Unary) and e.op == "not":
        return _conjuncts(e.a)
    return [e]


def _cut(cond: Expr, axis: int, var: Var) -> Cut | None:
    """Where a comparison changes its value as `var` grows, if it does so once."""
    if not (isinstance(cond, Binary) and cond.op in _MIRRORED):
        return None
    if not (cond.a.dtype.is_int and cond.a.dtype.is_signed):
        return None  # a difference of unsigned numbers is no distance
    a, c = coefficient(cond.a, var), coefficient(cond.b, var)
    if a is None or c is None or abs(a - c) != 1:
        return None
    left, right, op = at_zero(cond.a, var), at_zero(cond.b, var), cond.op
    if a - c < 0:  # var is on the greater side: read the comparison from right to left
        left, right, op = right, left, _MIRRORED[op]
    gap = b.sub(right, left)
    return Cut(axis, cond, b.add(gap, 1) if op in ("le", "gt") else gap, below=op in ("lt", "le"))


_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _innermost(s: Parallel) -> Parallel:
    """The loop over the last axis alone."""
    return replace(s, vars=s.vars[-1:], extents=s.extents[-1:])


def _decided(body: Body, cut: Cut, value: bool) -> Body:
    """The body where the condition is known."""
    truth = TRUE if value else FALSE
    memo: dict[Expr, Expr] = {}

    def node(e: Expr) -> Expr | None:
        if e is cut.cond:
            return truth
        if isinstance(e, Select) and isinstance(e.cond, Const):
            return e.t if e.cond.value else e.f
        if isinstance(e, Binary) and e.op in ("land", "lor"):
            return b.binary(e.op, e.a, e.b)
        if isinstance(e, Unary) and e.op == "not":
            return b.logical_not(e.a)
        return None

    def branch(s: Stmt) -> Body | None:
        if isinstance(s, If) and isinstance(s.cond, Const):
            return s.then if s.cond.value else s.orelse
        return None

    return map_stmts(map_all_exprs(body, lambda e: ex.rewrite(e, node, memo)), branch)


def _acts(body: Body) -> bool:
    """Whether anything is left to do: writes, or control flow that might."""
    return any(e.access & (Access.WRITE | Access.UPDATE) for e in all_effects(body))


def split_guards(fn: Function) -> Function:
    """Return the function with conditions on innermost variables turned into loop bounds."""
    splitter = _Splitter(declared(fn), Names.of(fn))
    return with_body(fn, FactWalk.of(fn).rewrite(fn.body, Facts.of_dims(fn.dims), splitter.visit))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return split_guards(fn)


PASS = Pass(
    name="split-guards", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__
)
