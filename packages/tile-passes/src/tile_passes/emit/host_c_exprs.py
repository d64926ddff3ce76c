"""Scalar expressions of the host as C text. Integers are int64_t: the extents, strides and sizes of
arrays, which fit whatever the width of their type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir.diag import InternalError
from tile_ir.expr import Binary, Call, Cast, Const, Expr, Select, Unary, Var
from tile_passes.emit.dialect import INFIX

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HELPERS", "c_text"]

HELPERS = """\
static inline int64_t tile_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t tile_floormod(int64_t a, int64_t b) { return a - tile_floordiv(a, b) * b; }
static inline int64_t tile_ceildiv(int64_t a, int64_t b) { return -tile_floordiv(-a, b); }
static inline int64_t tile_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tile_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t tile_abs(int64_t a) { return a < 0 ? -a : a; }
"""
"""What the texts call, in C."""
CALLED = frozenset({"floordiv", "floormod", "ceildiv", "min", "max"})
UNARY = {"neg": "(-{a})", "not": "(!{a})", "bnot": "(~{a})", "abs": "tile_abs({a})"}


def c_text(e: Expr, name: Callable[[Var], str], workers: str = "") -> str:
    """The text of `e`, of one word or in parentheses; `name` gives the text of a variable,
    `workers` is how many blocks run at once.

    Raises InternalError E9001 for what a host does not compute (reads of buffers, math).
    """
    if isinstance(e, Const):
        return _constant(e)
    if isinstance(e, Var):
        return name(e)
    if isinstance(e, Call) and e.fn == "device_workers" and workers:
        return workers
    if isinstance(e, Cast):
        return _cast(e, c_text(e.a, name, workers))
    parts = [c_text(part, name, workers) for part in e.children()]
    if isinstance(e, Binary) and e.op in CALLED and e.dtype.is_int:
        return f"tile_{e.op}({', '.join(parts)})"
    if isinstance(e, Binary) and e.op in INFIX:
        return f"({parts[0]} {INFIX[e.op].sign} {parts[1]})"
    if isinstance(e, Unary) and e.op in UNARY:
        return UNARY[e.op].format(a=parts[0])
    if isinstance(e, Select):
        return f"({parts[0]} ? {parts[1]} : {parts[2]})"
    raise InternalError("E9001", f"`{e}` outside of a kernel")


def _constant(e: Const) -> str:
    if e.dtype.is_bool:
        return str(int(e.value))
    if e.dtype.is_float:
        return f"({float(e.value)!r})"
    return f"INT64_C({e.value})" if int(e.value) >= 0 else f"(-INT64_C({-int(e.value)}))"


def _cast(e: Cast, text: str) -> str:
    if e.dtype.is_bool:
        return f"({text} != 0)"
    if e.dtype.is_int == e.a.dtype.is_int:
        return text
    return f"(({'int64_t' if e.dtype.is_int else 'double'}){text})"
