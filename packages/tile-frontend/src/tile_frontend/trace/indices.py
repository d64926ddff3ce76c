"""Index arithmetic at trace time: Python's negative indices, and extents of slices as plain
constants.
"""

from __future__ import annotations

from tile_frontend.trace import state
from tile_frontend.trace.values import expr_of
from tile_ir import build
from tile_ir.diag import TileError
from tile_ir.expr import Binary, Const, Expr, Unary, Var
from tile_ir.promotion import promote
from tile_passes.analysis.linear import Linear, Linearizer, to_expr


def _unknown(e: Linear) -> tuple[int | None, int | None]:
    return (e.const, e.const) if e.is_const() else (None, None)


def linear(e: Expr) -> Linear:
    """An integer expression as constant + sum of coefficient * atom."""
    return Linearizer({}, _unknown)(e)


def index_of(item: object, buffer: str) -> Expr:
    """An index as an integer expression.

    Raises `TileError` E1202 when it is no integer.
    """
    if type(item) is int:
        return build.const(item, "i32" if -(1 << 31) <= item < 1 << 31 else "i64")
    expr = expr_of(item)
    if expr.dtype.is_int and expr.dtype.lanes >= 1:
        return expr
    raise TileError(
        "E1202",
        f"{buffer} is indexed with a {expr.dtype}",
        help="an index is an integer; convert with T.cast(x, T.int32)",
    )


def wrapped(index: Expr, extent: Expr) -> Expr:
    """Count from the end where the index is negative whatever the variables are, as in `A[-1]` and
    `A[-1 - i]`.
    """
    if isinstance(index, Const):
        return build.add(extent, index) if index.value < 0 else index
    if isinstance(index, (Binary, Unary)) and _always_negative(index):
        return build.add(extent, index)
    return index


def _always_negative(index: Expr) -> bool:
    """Loop and tile variables are never negative unless a loop starts below zero, which
    `Builder.signed` knows.
    """
    if not _may_be_negative(index):
        return False
    total = linear(index)
    return total.const < 0 and all(
        c < 0 and isinstance(atom, Var) and _counts_up(atom) for atom, c in total.terms.items()
    )


def _may_be_negative(index: Expr) -> bool:
    # Nearly every index is a sum of products; only a subtraction or a sign can make it negative.
    if isinstance(index, Unary):
        return index.op == "neg"
    if not isinstance(index, Binary):
        return isinstance(index, Const) and index.value < 0
    return index.op == "sub" or any(_may_be_negative(c) for c in index.children())


def _counts_up(var: Var) -> bool:
    made = state.active()
    return made is not None and var.name in made.not_negative


def extent_between(start: Expr, stop: Expr) -> Expr:
    """`stop - start`, simplified so that `A[i * 64 : (i + 1) * 64]` has the constant extent 64."""
    if isinstance(start, Const) and start.value == 0:
        return stop
    if isinstance(start, Const) and isinstance(stop, Const):
        return build.sub(stop, start)
    wide = promote(start.dtype, stop.dtype) if start.dtype is not stop.dtype else start.dtype
    return to_expr(linear(stop) - linear(start), wide)


def same(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions are equal for all values of their variables, as far as sums
    can tell.
    """
    if a is b:
        return True
    difference = linear(a) - linear(b)
    return difference.is_const() and difference.const == 0
