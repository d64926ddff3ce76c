"""How an index depends on a loop variable: the one question vectorization asks of index
arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Cast, Const, Expr, Unary, Var, free_vars

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["at_zero", "coefficient", "depends"]


def depends(e: Expr, on: Collection[Var]) -> bool:
    """Whether any of the variables occurs in `e`."""
    return not free_vars(e).isdisjoint(on)


def coefficient(e: Expr, v: Var) -> int | None:
    """`c` where e == c * v + (something free of v); None where e is not of that form."""
    if e is v:
        return 1
    if v not in free_vars(e):
        return 0
    if (
        isinstance(e, Cast)
        and e.a.dtype.is_int
        and e.dtype.is_int
        and e.dtype.bits >= e.a.dtype.bits
    ):
        return coefficient(e.a, v)
    if isinstance(e, Unary) and e.op == "neg":
        inner = coefficient(e.a, v)
        return None if inner is None else -inner
    if isinstance(e, Binary):
        return _of_binary(e, v)
    return None


def _of_binary(e: Binary, v: Var) -> int | None:
    if e.op not in ("add", "sub", "mul"):
        return None
    a, b = coefficient(e.a, v), coefficient(e.b, v)
    if a is None or b is None:
        return None
    if e.op != "mul":
        return a + b if e.op == "add" else a - b
    if isinstance(e.b, Const):
        return a * int(e.b.value)
    return b * int(e.a.value) if isinstance(e.a, Const) else None


def at_zero(e: Expr, v: Var) -> Expr:
    """`e` where v is 0, for an `e` that has a `coefficient`; constants are folded."""
    if e is v:
        return Const(0, v.dtype)
    if v not in free_vars(e):
        return e
    if isinstance(e, Cast):
        return b.cast(at_zero(e.a, v), e.dtype)
    if isinstance(e, Unary):
        return b.unary(e.op, at_zero(e.a, v))
    assert isinstance(e, Binary)
    return b.binary(e.op, at_zero(e.a, v), at_zero(e.b, v))
