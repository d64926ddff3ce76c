"""What holds at a point of the program: integer facts, and a prover over them.

`Facts` is an immutable set of linear inequalities collected from loops, branches and assumptions. A
claim is proved by refuting its negation: variables are eliminated one by one (Fourier-Motzkin,
every combination tightened to integers by its divisor). Divisions, moduli, minima and maxima enter
as atoms with their defining inequalities; a minimum or maximum that these do not decide is split
into its two cases. The answers True and False are sound, None means not shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, Var
from tile_passes.analysis.eliminate import refuted
from tile_passes.analysis.linear import Linear, Linearizer, _widens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_FLIP = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
_MAX_CASES = 3


@dataclass(frozen=True)
class Facts:
    """Inequalities `sum >= 0` and substitutions `atom -> sum`, good for one place in a program."""

    at_least_zero: tuple[Linear, ...] = ()
    known: Mapping[Expr, Linear] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_linear", Linearizer(self.known, self._interval))
        object.__setattr__(self, "_atom_bounds", {})
        object.__setattr__(self, "_verdicts", {})

    @staticmethod
    def of_dims(dims: Iterable[Var]) -> Facts:
        """Facts of a function's symbolic dimensions: none is negative."""
        return Facts(tuple(Linear({d: 1}) for d in dims))

    def linear(self, e: Expr) -> Linear:
        """The normal form of an integer expression under the substitutions known here."""
        return self._linear(e)  # type: ignore[attr-defined,no-any-return]  # set in __post_init__

    def bind(self, var: Var, low: Expr, stop: Expr) -> Facts:
        """Facts inside a loop: low <= var < stop (so the loop is not empty)."""
        v = Linear({var: 1})
        return self._with(v - self.linear(low), self.linear(stop) - v.plus(1))

    def let(self, var: Var, value: Expr) -> Facts:
        """Facts after `var` was bound to an integer value for good."""
        return Facts(self.at_least_zero, {**self.known, var: self.linear(value)})

    def assume(self, cond: Expr) -> Facts:
        """Facts where `cond` holds; what is not linear is left unsaid."""
        if isinstance(cond, Binary) and cond.op == "land":
            return self.assume(cond.a).assume(cond.b)
        if isinstance(cond, Unary) and cond.op == "not":
            return self.assume_not(cond.a)
        if not (isinstance(cond, Binary) and cond.op in _FLIP and cond.a.dtype.is_int):
            return self
        divisor = _divides(cond)
        if divisor is not None:
            return self._divisible(*divisor)
        return self._with(*_as_inequalities(cond.op, self.linear(cond.a), self.linear(cond.b)))

    def assume_not(self, cond: Expr) -> Facts:
        """Facts where `cond` fails."""
        if isinstance(cond, Binary) and cond.op == "lor":
            return self.assume_not(cond.a).assume_not(cond.b)
        if isinstance(cond, Unary) and cond.op == "not":
            return self.assume(cond.a)
        if isinstance(cond, Binary) and cond.op in _FLIP:
            return self.assume(Binary(_FLIP[cond.op], cond.a, cond.b, cond.dtype))
        return self

    def _with(self, *more: Linear) -> Facts:
        new = tuple(m for m in more if not m.is_const())
        return Facts((*self.at_least_zero, *new), self.known) if new else self

    def _divisible(self, atom: Expr, by: int) -> Facts:
        quotient = Binary("floordiv", atom, Const(by, atom.dtype), atom.dtype)
        return Facts(self.at_least_zero, {**self.known, atom: Linear({quotient: by})})

    # -- questions

    def prove(self, cond: Expr) -> bool | None:
        """True or False when `cond` always or never holds here, None when neither was shown."""
        verdicts: dict[Expr, bool | None] = self._verdicts  # type: ignore[attr-defined]  # set in __post_init__
        if cond not in verdicts:
            verdicts[cond] = self._prove(cond)
        return verdicts[cond]

    def _prove(self, cond: Expr) -> bool | None:
        if isinstance(cond, Const):
            return bool(cond.value)
        if isinstance(cond, Unary) and cond.op == "not":
            inner = self.prove(cond.a)
            return None if inner is None else not inner
        if isinstance(cond, Binary) and cond.op in ("land", "lor"):
            return self._prove_both(cond)
        if not (isinstance(cond, Binary) and cond.op in _FLIP and cond.a.dtype.is_int):
            return None
        if cond.op == "ne":
            equal = self.prove(Binary("eq", cond.a, cond.b, cond.dtype))
            return None if equal is None else not equal
        claims = _as_inequalities(cond.op, self.linear(cond.a), self.linear(cond.b))
        if all(self.never_negative(c) for c in claims):
            return True
        if any(self.never_negative(c.scaled(-1).plus(-1)) for c in claims):
            return False
        return None

    def _prove_both(self, cond: Binary) -> bool | None:
        decides = cond.op == "lor"
        a = self.prove(cond.a)
        if a is decides:
            return decides
        b = self.prove(cond.b)
        if b is decides:
            return decides
        return (not decides) if a is (not decides) and b is (not decides) else None

    def never_negative(self, goal: Linear) -> bool:
        """Whether `goal >= 0` was shown."""
        if goal.is_const():
            return goal.const >= 0
        return self._refute((goal.scaled(-1).plus(-1),), _MAX_CASES)

    def contradictory(self) -> bool:
        """Whether the facts exclude each other: the place is never reached."""
        return self._refute((), 0)

    def _refute(self, extra: tuple[Linear, ...], cases: int) -> bool:
        system = self._closure((*extra, *self.at_least_zero))
        if refuted(system):
            return True
        if not cases:
            return False
        split = next((a for s in system for a in s.terms if _is_extremum(a)), None)
        if split is None:
            return False
        return all(
            Facts((*self.at_least_zero, *case), self.known)._refute(extra, cases - 1)
            for case in self._cases(split)
        )

    def _cases(self, atom: Expr) -> tuple[tuple[Linear, ...], ...]:
        """The two ways a minimum or maximum comes out, each as inequalities; none contains a new
        extremum."""
        assert isinstance(atom, Binary)
        me, a, b = Linear({atom: 1}), self.linear(atom.a), self.linear(atom.b)
        first, second = (b - a, a - b) if atom.op == "min" else (a - b, b - a)
        return ((first, a - me, me - a), (second, b - me, me - b))

    def _closure(self, seed: tuple[Linear, ...]) -> list[Linear]:
        """The inequalities and the definitions of every atom in them, transitively."""
        out = list(seed)
        seen: set[Expr] = set()
        at = 0
        while at < len(out):
            for atom in out[at].terms:
                if atom not in seen:
                    seen.add(atom)
                    out.extend(self._definition(atom))
            at += 1
        return out

    def _definition(self, atom: Expr) -> Iterable[Linear]:
        me = Linear({atom: 1})
        if isinstance(atom, Binary) and atom.op in ("floordiv", "min", "max"):
            a, b = self.linear(atom.a), self.linear(atom.b)
            if atom.op == "floordiv":
                if b.is_const() and b.const > 0:
                    rest = a - me.scaled(b.const)
                    yield rest
                    yield rest.scaled(-1).plus(b.const - 1)
                return
            sign = 1 if atom.op == "min" else -1
            yield (a - me).scaled(sign)
            yield (b - me).scaled(sign)
            return
        lo, hi = _type_bounds(atom)
        if lo is not None:
            yield me.plus(-lo)
        if hi is not None:
            yield me.scaled(-1).plus(hi)

    # -- bounds

    def range(self, e: Expr) -> tuple[int | None, int | None]:
        """The (lowest, highest) value of an integer expression here; None where none is known."""
        if isinstance(e, Select):
            t, f = self.assume(e.cond).range(e.t), self.assume_not(e.cond).range(e.f)
            return _union(t, f)
        return self._interval(self.linear(e))

    def _interval(self, e: Linear) -> tuple[int | None, int | None]:
        low, high = self._termwise(e)
        for rest, scale, c in self._remainders(e):
            lo, hi = self._interval(rest)
            bottom, top = sorted((0, scale * (c - 1)))
            low = low if lo is None else _tighter(low, lo + bottom, max)
            high = high if hi is None else _tighter(high, hi + top, min)
        return low, high

    def _remainders(self, e: Linear) -> Iterable[tuple[Linear, int, int]]:
        """Ways to read `e` as rest + scale * (a - c * (a // c)): the bracket is a remainder in [0,
        c)."""
        for atom, k in e.terms.items():
            if not (isinstance(atom, Binary) and atom.op == "floordiv"):
                continue
            c = self.linear(atom.b)
            if not c.is_const() or c.const <= 0 or k % c.const:
                continue
            scale = -k // c.const
            remainder = self.linear(atom.a) - Linear({atom: c.const})
            rest = e - remainder.scaled(scale)
            if len(rest.terms) < len(e.terms):
                yield rest, scale, c.const

    def _termwise(self, e: Linear) -> tuple[int | None, int | None]:
        low: int | None = e.const
        high: int | None = e.const
        for atom, c in e.terms.items():
            lo, hi = self._bounds_of(atom)
            if c < 0:
                lo, hi = hi, lo
            low = None if low is None or lo is None else low + c * lo
            high = None if high is None or hi is None else high + c * hi
        return low, high

    def _bounds_of(self, atom: Expr) -> tuple[int | None, int | None]:
        cache: dict[Expr, tuple[int | None, int | None]] = self._atom_bounds  # type: ignore[attr-defined]  # set in __post_init__
        if atom not in cache:
            cache[atom] = (None, None)  # an atom met again below itself has no better bound
            cache[atom] = self._find_bounds(atom)
        return cache[atom]

    def _find_bounds(self, atom: Expr) -> tuple[int | None, int | None]:
        lo, hi = _type_bounds(atom)
        for fact in (*self.at_least_zero, *self._structural(atom)):
            c = fact.terms.get(atom, 0)
            if not c:
                continue
            rest = fact - Linear({atom: c})
            if c > 0:
                _, top = self._interval(rest)
                if top is not None:
                    lo = _tighter(lo, -(top // c), max)
            else:
                _, top = self._interval(rest)
                if top is not None:
                    hi = _tighter(hi, top // -c, min)
        return lo, hi

    def _structural(self, atom: Expr) -> tuple[Linear, ...]:
        if isinstance(atom, Binary) and atom.op in ("floordiv", "min", "max"):
            one_sided = tuple(self._definition(atom))
            if atom.op == "floordiv":
                return one_sided
            side = 0 if atom.op == "min" else 1
            a = self._interval(self.linear(atom.a))[side]
            b = self._interval(self.linear(atom.b))[side]
            if a is None or b is None:
                return one_sided
            me = Linear({atom: 1})
            far = me.plus(-min(a, b)) if side == 0 else me.scaled(-1).plus(max(a, b))
            return (*one_sided, far)
        return ()


def _tighter(old: int | None, new: int, pick: Callable[[int, int], int]) -> int:
    return new if old is None else pick(old, new)


def _union(
    a: tuple[int | None, int | None], b: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    lo = None if a[0] is None or b[0] is None else min(a[0], b[0])
    hi = None if a[1] is None or b[1] is None else max(a[1], b[1])
    return lo, hi


def _is_extremum(e: Expr) -> bool:
    return isinstance(e, Binary) and e.op in ("min", "max")


def _divides(cond: Binary) -> tuple[Expr, int] | None:
    """For `x % c == 0` with a variable x: (x, c)."""
    mod, zero = cond.a, cond.b
    if cond.op != "eq" or not (isinstance(zero, Const) and zero.value == 0):
        return None
    if not (isinstance(mod, Binary) and mod.op in ("floormod", "truncmod")):
        return None
    if isinstance(mod.a, Var) and isinstance(mod.b, Const) and int(mod.b.value) > 0:
        return mod.a, int(mod.b.value)
    return None


def _as_inequalities(op: str, a: Linear, b: Linear) -> tuple[Linear, ...]:
    """`a op b` as sums that must not be negative; empty for `ne`, no conjunction."""
    if op == "eq":
        return (a - b, b - a)
    table = {
        "le": b - a,
        "lt": (b - a).plus(-1),
        "ge": a - b,
        "gt": (a - b).plus(-1),
    }
    return (table[op],) if op in table else ()


_SMALL_BITS = 16


def _type_bounds(atom: Expr) -> tuple[int | None, int | None]:
    """Bounds from the type alone, where they help: what is unsigned, small or a truth value."""
    dtype = atom.dtype
    if isinstance(atom, Cast) and _widens(atom.a.dtype, dtype):
        dtype = atom.a.dtype
    if dtype.is_bool:
        return 0, 1
    if not isinstance(atom, (Load, Var, Cast, Binary, Select)):
        return None, None
    lo = 0 if not dtype.is_signed else None
    if dtype.bits <= _SMALL_BITS:
        return int(dtype.min_value), int(dtype.max_value)
    return lo, None
