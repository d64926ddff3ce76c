"""When a condition on the elements of a box holds for all of them: a condition without the box's
variables.

Affine indices take their extremes at corners of the box, divisions by constants, minima and maxima
keep order, so comparing the worst corner decides for all elements. What is found is sufficient, and
for affine comparisons also necessary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Expr, Unary, Var, free_vars
from tile_ir.fold import NEGATED
from tile_ir.types import bool_, i32, i64
from tile_passes.analysis.linear import Linear, to_expr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.ops import Parallel
    from tile_ir.types import DType
    from tile_passes.analysis.facts import Facts

_SWAPPED = {"land": "lor", "lor": "land"}


@dataclass(frozen=True, slots=True)
class Corners:
    """The box of a parallel loop, with the facts that hold at each of its elements."""

    last: Mapping[Var, Linear]
    """The last value of each variable; the first is 0."""
    facts: Facts
    uniform: Callable[[Expr], bool]
    """Whether an expression without the box's variables has one value for the whole box."""

    @staticmethod
    def of(loop: Parallel, inside: Facts, uniform: Callable[[Expr], bool]) -> Corners:
        """The box of a loop; `inside` are the facts in its body."""
        ends = (inside.linear(e).plus(-1) for e in loop.extents)
        return Corners(dict(zip(loop.vars, ends, strict=True)), inside, uniform)

    def always(self, cond: Expr) -> Expr | None:
        """A condition under which `cond` holds for every element, None when none was found."""
        return self._all(cond, holds=True)

    def never(self, cond: Expr) -> Expr | None:
        """A condition under which `cond` fails for every element, None when none was found."""
        return self._all(cond, holds=False)

    def _all(self, cond: Expr, *, holds: bool) -> Expr | None:
        if isinstance(cond, Unary) and cond.op == "not":
            return self._all(cond.a, holds=not holds)
        if isinstance(cond, Binary) and cond.op in _SWAPPED:
            op = cond.op if holds else _SWAPPED[cond.op]
            return _joined(op, self._all(cond.a, holds=holds), self._all(cond.b, holds=holds))
        if isinstance(cond, Binary) and cond.op in NEGATED and cond.a.dtype.is_int:
            return self._compared(cond.op if holds else NEGATED[cond.op], cond.a, cond.b)
        if self._apart(cond):
            return cond if holds else negated(cond)
        return None

    def _compared(self, op: str, x: Expr, y: Expr) -> Expr | None:
        """`x op y` everywhere: the least value of the greater side's lead is not too small."""
        if op == "ne":
            return _joined("lor", self._compared("lt", x, y), self._compared("gt", x, y))
        gap = self.facts.linear(y) - self.facts.linear(x)
        if op == "eq":
            return _joined(
                "land",
                self._not_negative(gap, x.dtype),
                self._not_negative(gap.scaled(-1), x.dtype),
            )
        lead = gap if op in ("lt", "le") else gap.scaled(-1)
        return self._not_negative(lead.plus(-1 if op in ("lt", "gt") else 0), x.dtype)

    def _not_negative(self, lead: Linear, dtype: DType) -> Expr | None:
        """`lead >= 0` at the corner where it is least, as `small <= large` of positive terms."""
        least = self.least(lead)
        if least is None:
            return None
        if self.facts.never_negative(least):
            return Const(True, bool_)
        if self.facts.never_negative(least.scaled(-1).plus(-1)):
            return Const(False, bool_)
        wide = i64 if dtype is i64 else i32
        large = Linear({a: k for a, k in least.terms.items() if k > 0}, max(least.const, 0))
        small = Linear({a: -k for a, k in least.terms.items() if k < 0}, max(-least.const, 0))
        return b.le(to_expr(small, wide), to_expr(large, wide))

    def least(self, e: Linear) -> Linear | None:
        """A lower bound of a sum over the box, without the box's variables; exact when affine."""
        out = Linear(const=e.const)
        for atom, k in e.terms.items():
            bound = self._extreme(atom, low=k > 0)
            if bound is None:
                return None
            out = out + bound.scaled(k)
        return out

    def _extreme(self, atom: Expr, *, low: bool) -> Linear | None:
        """A bound of an atom from below (`low`) or above."""
        if atom in self.last:
            return Linear() if low else self.last[atom]  # type: ignore[index]  # a variable
        if self._apart(atom):
            return Linear({atom: 1})
        if not isinstance(atom, Binary):
            return None
        positive = isinstance(atom.b, Const) and atom.b.value > 0
        if atom.op in ("min", "max") or (atom.op == "floordiv" and positive):
            sides = (self._side(atom.a, low=low), self._side(atom.b, low=low))
            if sides[0] is not None and sides[1] is not None:
                return self.facts.linear(b.binary(atom.op, *sides))  # type: ignore[arg-type]  # both are there
        return None

    def _side(self, e: Expr, *, low: bool) -> Expr | None:
        sum_ = self.facts.linear(e)
        least = self.least(sum_ if low else sum_.scaled(-1))
        return None if least is None else to_expr(least if low else least.scaled(-1), e.dtype)

    def _apart(self, e: Expr) -> bool:
        """Whether `e` says the same of every element."""
        return not free_vars(e) & self.last.keys() and self.uniform(e)


def _joined(op: str, x: Expr | None, y: Expr | None) -> Expr | None:
    """Both conditions, or one of two; what was not found counts as false."""
    if x is not None and y is not None:
        return b.binary(op, x, y)
    return None if op == "land" else (x if y is None else y)


def negated(cond: Expr) -> Expr:
    """The opposite, without a `not` where comparisons and their combinations can say it."""
    if isinstance(cond, Binary) and cond.op in _SWAPPED:
        return b.binary(_SWAPPED[cond.op], negated(cond.a), negated(cond.b))
    if isinstance(cond, Binary) and cond.op in NEGATED and cond.a.dtype.is_int:
        return b.binary(NEGATED[cond.op], cond.a, cond.b)
    return cond.a if isinstance(cond, Unary) and cond.op == "not" else b.unary("not", cond)
