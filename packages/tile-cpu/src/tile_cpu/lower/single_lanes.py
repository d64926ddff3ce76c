"""One lane of a short vector is computed alone.

Programs that handle pairs of halves make vectors of two lanes and take single lanes of them, which
other machines do in one instruction. Here a lane is taken by a reduction over all lanes. Where the
vector is made in the same loop, its operands are asked for the lane instead: the loop then has
scalars only, and can become a vector loop as wide as the machine's own vectors.

    before:  let pair: f16x2 = broadcast(s, 2) * A[i, ramp(j, 1, 2)]
             store B[i, j] = max_lanes(select(ramp(0, 1, 2) == broadcast(n, 2), pair, -inf))
    after:   store B[i, j] = s * A[i, j + n]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tile_ir import build as b
from tile_ir.expr import (
    Binary,
    Broadcast,
    Call,
    Const,
    Expr,
    Ramp,
    Select,
    Var,
    free_vars,
    loads,
    rewrite,
    walk,
)
from tile_ir.opdef import Access, Body, Stmt
from tile_ir.ops import Let, Parallel
from tile_ir.rewrite import all_effects, map_all_exprs, map_stmts, stmt_exprs, with_body
from tile_ir.rewrite import walk as statements
from tile_passes.base import Pass, PassContext

if TYPE_CHECKING:
    from tile_ir.core import Function
    from tile_passes.plan.model import Plan

__all__ = ["PASS", "single_lanes"]

_LOSERS = {"max_lanes": float("-inf"), "or_lanes": 0}
"""Reduction -> what the lanes that are not asked for are replaced by."""


class _NotPushed(Exception):
    """A vector was made elsewhere."""


@dataclass(slots=True)
class _Lanes:
    """Single lanes of vectors that are made in one body, by name in `made`."""

    made: dict[Var, Expr]
    _known: dict[tuple[Expr, Expr], Expr] = field(default_factory=dict)

    def node(self, e: Expr) -> Expr | None:
        """The lane that a reduction leaves; None for other nodes."""
        found = _chosen(e)
        if found is None:
            return None
        try:
            return self.lane(*found)
        except _NotPushed:
            return None

    def lane(self, e: Expr, n: Expr) -> Expr:
        """Lane `n` of an expression. Raises _NotPushed for a name that is not in `made`."""
        if e.dtype.lanes == 1:
            return e
        found = self._known.get((e, n))
        if found is None:
            found = self._known[e, n] = self._pushed(e, n)
        return found

    def _pushed(self, e: Expr, n: Expr) -> Expr:
        if isinstance(e, Broadcast):
            return e.a
        if isinstance(e, Ramp):
            return b.add(e.base, b.mul(b.cast(n, e.base.dtype), e.stride))
        if isinstance(e, Var):
            if e not in self.made:
                raise _NotPushed
            return self.lane(self.made[e], n)
        made: Any = e.with_children(tuple(self.lane(c, n) for c in e.children()))
        if isinstance(made, Select) and isinstance(made.cond, Const):
            return made.t if made.cond.value else made.f
        if isinstance(made, Binary):
            return b.binary(made.op, made.a, made.b)
        one: Expr = replace(made, dtype=e.dtype.with_lanes(1))
        return one


def _chosen(e: Expr) -> tuple[Expr, Expr] | None:
    """A vector, and the number of the lane that a reduction leaves of it."""
    if not (isinstance(e, Call) and e.fn in _LOSERS and isinstance(e.args[0], Select)):
        return None
    picked = e.args[0]
    cond, other = picked.cond, picked.f
    if not (isinstance(cond, Binary) and cond.op == "eq" and isinstance(cond.b, Broadcast)):
        return None
    counts = isinstance(cond.a, Ramp) and cond.a.stride == 1 and _is(cond.a.base, 0)
    loses = isinstance(other, Broadcast) and _is(other.a, _LOSERS[e.fn])
    return (picked.t, cond.b.a) if counts and loses else None


def _is(e: Expr, value: float) -> bool:
    return isinstance(e, Const) and e.value == value


def _body(body: Body) -> Body:
    """The body of a loop over elements with single lanes in place of the vectors they are of."""
    written = {e.buffer for e in all_effects(body) if e.access & (Access.WRITE | Access.UPDATE)}
    lets = [s for s in statements(body) if isinstance(s, Let) and s.value.dtype.lanes > 1]
    made = {s.var: s.value for s in lets if not written & {x.buffer for x in loads(s.value)}}
    work = _Lanes(made)
    memo: dict[Expr, Expr] = {}
    new = map_all_exprs(body, lambda e: rewrite(e, work.node, memo))
    return body if new == body else _used(new)


def _used(body: Body) -> Body:
    """The body without names of vectors that nothing reads any more."""
    while True:
        read: set[Var] = set()
        for s in statements(body):
            read.update(*(free_vars(e) for e in stmt_exprs(s)))

        def kept(s: Stmt, read: set[Var] = read) -> Body | None:
            gone = isinstance(s, Let) and s.value.dtype.lanes > 1 and s.var not in read
            return () if gone else None

        new = map_stmts(body, kept)
        if new == body:
            return body
        body = new


def single_lanes(fn: Function) -> Function:
    """Return the function without vectors of which element loops use single lanes."""

    def visit(s: Stmt) -> Stmt | None:
        if not isinstance(s, Parallel) or not any(_reduces(x) for x in statements(s.body)):
            return None
        made = _body(s.body)
        return s if made is s.body else replace(s, body=made)

    return with_body(fn, map_stmts(fn.body, visit))


def _reduces(s: Stmt) -> bool:
    return any(_chosen(n) is not None for e in stmt_exprs(s) for n in walk(e))


def _run(fn: Function, cx: PassContext, plan: Plan) -> Function:
    return single_lanes(fn)


PASS = Pass(
    name="single-lanes", phase="lower", rewrite=_run, requires=("element-wise",), doc=__doc__
)
