"""Compile-time values of operators on constants, and identities that hold bit for bit.

The builder applies both at every node it makes, so that traced programs stay small and index
arithmetic has one readable form (constants to the right, `by * 128 + i`). Nothing here may change a
result: float rules that lose the sign of zero or a NaN are absent, integer rules hold under
wrap-around.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from tile_ir import numerics
from tile_ir.expr import Binary, Const, Expr, Unary
from tile_ir.numerics import convert, wrap
from tile_ir.types import bool_, f64

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.types import DType

Scalar = bool | int | float

COMPARISONS: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
NEGATED = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
LOGIC = {"land": operator.and_, "lor": operator.or_}


_WRAPPING: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_PARTIAL: dict[str, Callable[[int, int, DType], int]] = {
    "floordiv": numerics.floordiv,
    "floormod": numerics.floormod,
    "truncdiv": numerics.truncdiv,
    "truncmod": numerics.truncmod,
    "ceildiv": numerics.ceildiv,
    "shl": numerics.shl,
    "shr": numerics.shr,
}
_FLOAT: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "min": min,
    "max": max,
}


def fold_binary(op: str, x: Scalar, y: Scalar, dtype: DType) -> Scalar | None:
    """The value of `x op y` for operands of `dtype`, or None where it is left to run time.

    Left alone: division by zero, shifts outside 0..bits-1, floats narrower than 16 bits, min and
    max of zeros of unlike sign. Computing in double and rounding again is exact for all float types
    of at most 24 bits of precision, because 53 >= 2 * 24 + 2 (Figueroa, "When is double rounding
    innocuous?", 1995).
    """
    if op in COMPARISONS:
        return COMPARISONS[op](x, y)
    if op in LOGIC:
        return bool(LOGIC[op](bool(x), bool(y)))
    if dtype.is_float:
        return _fold_float(op, float(x), float(y), dtype)
    return _fold_int(op, int(x), int(y), dtype)


def _fold_int(op: str, x: int, y: int, dtype: DType) -> Scalar | None:
    if op in _WRAPPING:
        return wrap(_WRAPPING[op](x, y), dtype)
    try:
        return _PARTIAL[op](x, y, dtype)
    except ArithmeticError:
        return None


def _fold_float(op: str, x: float, y: float, dtype: DType) -> float | None:
    rule = _FLOAT.get(op)
    if rule is None or dtype.bits < 16 or (op == "div" and y == 0.0):
        return None
    if op in ("min", "max"):
        if math.isnan(x) or math.isnan(y):
            return math.nan
        if x == y and math.copysign(1.0, x) != math.copysign(1.0, y):
            return None
    return float(convert(rule(x, y), f64, dtype))


def fold_unary(op: str, x: Scalar, dtype: DType) -> Scalar | None:
    """The value of `neg`, `not`, `bnot` or `abs` of a constant, or None where left to run time."""
    if op == "not":
        return not x
    if dtype.is_float:
        narrow = dtype.bits < 16
        return None if narrow else -float(x) if op == "neg" else abs(float(x))
    if dtype.is_bool:
        return not x if op == "bnot" else None
    value = {"neg": -int(x), "bnot": ~int(x), "abs": abs(int(x))}[op]
    return wrap(value, dtype)


def _is(e: Expr, value: int) -> bool:
    return type(e) is Const and e.value == value


def _split(e: Expr) -> tuple[Expr, int]:
    """An integer sum as (term, constant)."""
    if type(e) is Binary and e.op in ("add", "sub") and type(e.b) is Const:
        c = int(e.b.value)
        return e.a, c if e.op == "add" else -c
    return e, 0


def _plus(a: Expr, c: int, t: DType) -> Expr:
    """`a + c` with the constant's sign in the operator."""
    c = wrap(c, t)
    if c == 0:
        return a
    if type(a) is Const:
        return Const(wrap(int(a.value) + c, t), t)
    if c < 0 and wrap(-c, t) > 0:
        return Binary("sub", a, Const(-c, t), t)
    return Binary("add", a, Const(c, t), t)


def _add(a: Expr, b: Expr, t: DType) -> Expr | None:
    if not t.is_int:
        return None
    if type(a) is Const:
        a, b = b, a
    if type(b) is Const:
        term, c = _split(a)
        return _plus(term, c + int(b.value), t)
    return None


def _sub(a: Expr, b: Expr, t: DType) -> Expr | None:
    if not t.is_int:
        return None
    if a is b:
        return Const(0, t)
    if type(b) is Const:
        term, c = _split(a)
        return _plus(term, c - int(b.value), t)
    return None


def _mul(a: Expr, b: Expr, t: DType) -> Expr | None:
    if t.is_float:
        return a if _is(b, 1) else b if _is(a, 1) else None
    if not t.is_int:
        return None
    if type(a) is Const:
        a, b = b, a
    if type(b) is not Const:
        return None
    if b.value == 0:
        return b
    if b.value == 1:
        return a
    if type(a) is Binary and a.op == "mul" and type(a.b) is Const:
        return _mul(a.a, Const(wrap(int(a.b.value) * int(b.value), t), t), t)
    return Binary("mul", a, b, t)


def _over_one(a: Expr, b: Expr, t: DType) -> Expr | None:
    return a if _is(b, 1) else None


def _mod_one(a: Expr, b: Expr, t: DType) -> Expr | None:
    return Const(0, t) if _is(b, 1) else None


def _same(a: Expr, b: Expr, t: DType) -> Expr | None:
    return a if a is b else None


def _by_zero(a: Expr, b: Expr, t: DType) -> Expr | None:
    return a if _is(b, 0) else None


def _and(a: Expr, b: Expr, t: DType) -> Expr | None:
    if a is b or _is(a, 0) or (t.is_signed and _is(b, -1)):
        return a
    return b if _is(b, 0) or (t.is_signed and _is(a, -1)) else None


def _or(a: Expr, b: Expr, t: DType) -> Expr | None:
    return a if a is b or _is(b, 0) else b if _is(a, 0) else None


def _xor(a: Expr, b: Expr, t: DType) -> Expr | None:
    if a is b and t.is_int:
        return Const(0, t)
    return a if _is(b, 0) else b if _is(a, 0) else None


def _land(a: Expr, b: Expr, t: DType) -> Expr | None:
    if a is b or _is(b, True) or _is(a, False):
        return a
    return b if _is(a, True) or _is(b, False) else None


def _lor(a: Expr, b: Expr, t: DType) -> Expr | None:
    if a is b or _is(b, False) or _is(a, True):
        return a
    return b if _is(a, False) or _is(b, True) else None


IDENTITIES: dict[str, Callable[[Expr, Expr, DType], Expr | None]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _over_one,
    "floordiv": _over_one,
    "truncdiv": _over_one,
    "ceildiv": _over_one,
    "floormod": _mod_one,
    "truncmod": _mod_one,
    "min": _same,
    "max": _same,
    "and": _and,
    "or": _or,
    "xor": _xor,
    "shl": _by_zero,
    "shr": _by_zero,
    "land": _land,
    "lor": _lor,
}
"""Operator -> rule(a, b, type of both operands, a scalar): the simpler expression, or None."""

_REFLEXIVE = {"le": True, "ge": True, "eq": True, "lt": False, "gt": False, "ne": False}


def simplify_binary(op: str, a: Expr, b: Expr, operand: DType) -> Expr | None:
    """A simpler expression, bit for bit `a op b`, or None; `operand` is the type of both."""
    rule = IDENTITIES.get(op)
    if rule is not None:
        return rule(a, b, operand) if operand.lanes == 1 else None
    if a is b and not operand.is_float and operand.lanes == 1:
        return Const(_REFLEXIVE[op], bool_)
    return None


def simplify_unary(op: str, a: Expr) -> Expr | None:
    """A simpler expression equal to `op a` bit for bit, or None."""
    if type(a) is Unary and a.op == op and op in ("neg", "not", "bnot"):
        return a.a
    if op == "not" and type(a) is Binary and a.op in NEGATED and not a.a.dtype.is_float:
        return Binary(NEGATED[a.op], a.a, a.b, a.dtype)
    return None
