"""Plain loops: a fresh variable where a body is used again, no loop around a single trip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir import expr as ex
from tile_ir.expr import Binary, Const, Expr, Var
from tile_ir.ops import For
from tile_ir.rewrite import map_all_exprs

if TYPE_CHECKING:
    from tile_ir.diag import Span
    from tile_ir.opdef import Body

__all__ = ["counted", "ends", "with_value"]


def ends(start: Expr, stop: Expr) -> tuple[int, int] | None:
    """The first and the last value of a loop's variable in steps of one, where both are known."""
    if not (isinstance(start, Const) and isinstance(stop, Const)):
        return None
    return int(start.value), int(stop.value) - 1


def counted(var: Var, start: Expr, stop: Expr, step: int, body: Body, span: Span | None) -> Body:
    """A loop over `var`; for a single trip the body alone, the variable's value in it."""
    if isinstance(start, Const) and isinstance(stop, Const):
        trips = -(-(int(stop.value) - int(start.value)) // step)
        if trips <= 0:
            return ()
        if trips == 1:
            return with_value(body, var, start)
    loop = For(var=var, start=start, stop=stop, step=b.const(step), body=body, span=span)
    return (loop,)


def with_value(body: Body, var: Var, value: Expr) -> Body:
    """The body with an expression in the place of a variable, integer arithmetic folded."""
    memo: dict[Expr, Expr] = {}

    def node(e: Expr) -> Expr | None:
        if e is var:
            return value
        if isinstance(e, Binary) and e.dtype.is_int and e.dtype.lanes == 1:
            return b.binary(e.op, e.a, e.b)
        return None

    return map_all_exprs(body, lambda e: ex.rewrite(e, node, memo))
