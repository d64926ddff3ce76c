"""Dimensions from arguments: every declared extent and stride is an equation, solved one unknown at
a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_frontend.trace.indices import linear
from tile_ir.diag import InternalError
from tile_ir.expr import Binary, Cast, Const, Expr, Unary, Var

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tile_passes.analysis.linear import Linear

_OPS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "floormod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True, slots=True)
class Equation:
    """`expr` must equal `value`, the extent or stride of `axis` of argument `name`."""

    expr: Expr
    value: int
    name: str
    axis: int
    is_stride: bool = False

    def __str__(self) -> str:
        what = "stride" if self.is_stride else "extent"
        return f"{what} {self.axis} of {self.name}"


def evaluate(expr: Expr, known: Mapping[str, int]) -> int:
    """The value of an extent once its dimensions are known."""
    if isinstance(expr, Const):
        return int(expr.value)
    if isinstance(expr, Var):
        return known[expr.name]
    if isinstance(expr, Cast):
        return evaluate(expr.a, known)
    if isinstance(expr, Unary) and expr.op == "neg":
        return -evaluate(expr.a, known)
    if isinstance(expr, Binary) and expr.op in _OPS:
        return _OPS[expr.op](evaluate(expr.a, known), evaluate(expr.b, known))
    raise InternalError("E9001", f"an extent of a parameter is `{expr}`")


def solve(
    equations: Iterable[Equation], given: Mapping[str, int] | None = None
) -> tuple[dict[str, int], Equation | None]:
    """The dimensions that the equations determine, and an equation that has no integer solution, if
    any.

    An equation determines a dimension when it is linear and all its other dimensions are known.
    Equations are not checked once all their dimensions are known; `evaluate` does that.
    """
    known = dict(given or {})
    sums = [(linear(e.expr), e) for e in equations]
    progress = True
    while progress:
        progress = False
        for total, equation in sums:
            found = _single_unknown(total, known)
            if found is None:
                continue
            name, coefficient, rest = found
            total_value = equation.value - rest
            value = total_value // coefficient  # not divmod: torch's symbolic sizes lack it
            if total_value % coefficient or value < 0:
                return known, equation
            known[name] = value
            progress = True
    return known, None


def _single_unknown(total: Linear, known: Mapping[str, int]) -> tuple[str, int, int] | None:
    unknown: tuple[str, int] | None = None
    rest = total.const
    for atom, coefficient in total.terms.items():
        if isinstance(atom, Var) and atom.name in known:
            rest += coefficient * known[atom.name]
        elif isinstance(atom, Var) and unknown is None:
            unknown = (atom.name, coefficient)
        elif _is_known(atom, known):
            rest += coefficient * evaluate(atom, known)
        else:
            return None
    return None if unknown is None else (*unknown, rest)


def _is_known(atom: Expr, known: Mapping[str, int]) -> bool:
    if isinstance(atom, Var):
        return atom.name in known
    return all(_is_known(c, known) for c in atom.children())
