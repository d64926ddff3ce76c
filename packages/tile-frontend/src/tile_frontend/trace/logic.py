"""`and`, `or`, `not`, comparison chains and ternaries: Python's on Python values, lazy IR on traced
ones.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.values import Value, expr_of, lift
from tile_ir import build
from tile_ir.expr import Const, Expr
from tile_ir.types import bool_

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_frontend.trace.builder import Builder

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "is_": operator.is_,
    "is_not": operator.is_not,
    "in_": lambda a, b: a in b,
    "not_in": lambda a, b: a not in b,
}


def traced(x: object) -> bool:
    """Whether `x` is known only when the kernel runs."""
    return isinstance(x, Value) and not isinstance(x.expr, Const)


def truth(x: object) -> Expr:
    """The truth value of a scalar: whether it is not zero."""
    return build.cast(expr_of(x), bool_)


def _lazily(builder: Builder, thunk: Callable[[], Any]) -> Any:
    builder.lazy += 1
    try:
        return thunk()
    finally:
        builder.lazy -= 1


def chain(builder: Builder, op: str, first: Any, rest: Sequence[Callable[[], Any]]) -> Any:
    """`first op rest[0] op ...` for `land` or `lor`, evaluating no more than Python would."""
    value = first
    for thunk in rest:
        if traced(value):
            other = _lazily(builder, thunk)
            value = Value(build.binary(op, truth(value), truth(other)))
        elif bool(value) is (op == "lor"):
            return value
        else:
            value = thunk()
    return value


def not_(value: Any) -> Any:
    """`not value`."""
    return Value(build.logical_not(truth(value))) if traced(value) else not value


def if_else(builder: Builder, cond: Any, t: Callable[[], Any], f: Callable[[], Any]) -> Any:
    """`t() if cond else f()`; with a traced condition both are traced, and one is evaluated."""
    if not traced(cond):
        return t() if cond else f()
    left, right = _lazily(builder, t), _lazily(builder, f)
    return Value(build.select(truth(cond), lift(left), lift(right)))


def compare(
    builder: Builder, ops: Sequence[str], first: Any, rest: Sequence[Callable[[], Any]]
) -> Any:
    """`first ops[0] rest[0] ops[1] rest[1] ...`, each operand evaluated once."""
    result: Any = True
    left = first
    for op, thunk in zip(ops, rest, strict=True):
        right = _lazily(builder, thunk) if traced(result) else thunk()
        part = _OPERATORS[op](left, right)
        if traced(result) or traced(part):
            both = build.binary("land", truth(result), truth(part))
            result = Value(both)
        elif not part:
            return part
        else:
            result = part
        left = right
    return result
