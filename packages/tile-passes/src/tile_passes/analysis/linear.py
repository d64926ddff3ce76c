"""Integer expressions as sums: `Linear` is const + sum of coefficient * atom, the normal form of
the prover.

An atom is an interned expression that is no sum: a variable, a load, a product of unknowns, or a
division, modulus, minimum, maximum or selection that the rules here could not resolve. Divisions by
constants are split, so `(32 * k + i) // 32` becomes `k + i // 32`. Indices are taken not to
overflow their type: choosing a width that makes this true is the business of the pass that lowers
addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import gcd

from tile_ir.expr import Binary, Cast, Const, Expr, Unary
from tile_ir.types import DType, i32

Resolve = Callable[["Linear"], "tuple[int | None, int | None]"]
"""Bounds of a sum under the facts at hand: (lowest, highest), None where unknown."""


@dataclass(frozen=True, slots=True)
class Linear:
    """`const + sum(coefficient * atom)`; no coefficient is zero."""

    terms: Mapping[Expr, int] = field(default_factory=dict)
    const: int = 0

    def __add__(self, other: Linear) -> Linear:
        terms = dict(self.terms)
        for atom, c in other.terms.items():
            total = terms.get(atom, 0) + c
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(terms, self.const + other.const)

    def __sub__(self, other: Linear) -> Linear:
        return self + other.scaled(-1)

    def scaled(self, by: int) -> Linear:
        """This sum times a constant."""
        if by == 0:
            return Linear()
        return Linear({a: c * by for a, c in self.terms.items()}, self.const * by)

    def plus(self, amount: int) -> Linear:
        """This sum and a constant."""
        return Linear(self.terms, self.const + amount)

    def is_const(self) -> bool:
        """Whether there are no atoms."""
        return not self.terms

    def divisor(self) -> int:
        """The greatest common divisor of all coefficients and the constant (0 for the zero sum)."""
        return gcd(self.const, *self.terms.values())

    def key(self) -> tuple[object, ...]:
        """A hashable identity: equal sums have equal keys."""
        return (self.const, frozenset(self.terms.items()))


def split_by(e: Linear, c: int) -> tuple[Linear, Linear]:
    """Return (q, r) with e == c * q + r, where r keeps the terms whose coefficients c does not
    divide."""
    q = {a: k // c for a, k in e.terms.items() if k % c == 0}
    r = {a: k for a, k in e.terms.items() if k % c}
    return Linear(q, e.const // c), Linear(r, e.const % c)


def _order(e: Expr) -> tuple[str, ...]:
    """A total order independent of memory addresses: the nodes' own words, in pre-order."""
    own = getattr(e, "name", None) or getattr(e, "op", None) or getattr(e, "buffer", None)
    word = str(own if own is not None else getattr(e, "value", type(e).__name__))
    return (word, *(w for c in e.children() for w in _order(c)))


def to_expr(e: Linear, dtype: DType = i32) -> Expr:
    """The sum as an expression of `dtype`, in a canonical readable order: terms by text, constant
    last."""
    parts = sorted(e.terms.items(), key=lambda t: (t[1] < 0, *_order(t[0])))
    out: Expr | None = None
    for atom, c in parts:
        size = abs(c)
        if atom.dtype is not dtype:  # a widening cast was looked through on the way in
            atom = Cast(atom, dtype)
        term = atom if size == 1 else Binary("mul", atom, Const(size, dtype), dtype)
        if out is None:
            out = term if c > 0 else Unary("neg", term, dtype)
        else:
            out = Binary("add" if c > 0 else "sub", out, term, dtype)
    if out is None:
        return Const(e.const, dtype)
    if e.const:
        op = "add" if e.const > 0 else "sub"
        return Binary(op, out, Const(abs(e.const), dtype), dtype)
    return out


class Linearizer:
    """Turns expressions into sums under a set of substitutions and a bounds oracle; memoizes by
    node."""

    def __init__(self, known: Mapping[Expr, Linear], bounds: Resolve) -> None:
        self._known = known
        self._bounds = bounds
        self._memo: dict[Expr, Linear] = {}

    def __call__(self, e: Expr) -> Linear:
        """The normal form of an integer expression."""
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._make(e)
        return found

    def _make(self, e: Expr) -> Linear:
        if e in self._known:
            return self._known[e]
        if isinstance(e, Const):
            return Linear(const=int(e.value))
        if isinstance(e, Unary) and e.op == "neg":
            return self._unless_wrapped(self(e.a).scaled(-1), e)
        if isinstance(e, Cast) and _widens(e.a.dtype, e.dtype):
            return self(e.a)
        if isinstance(e, Binary):
            rule = _RULES.get(e.op)
            if rule is not None:
                found = rule(self, e)
                return self._unless_wrapped(found, e) if e.op in _WRAPPING else found
        return self.atom(e)

    def _unless_wrapped(self, sum_: Linear, e: Expr) -> Linear:
        """The sum where its numbers are those of `e`: a type that is no index wraps around, and
        does where the sum is not known to fit it."""
        if e.dtype.is_signed and e.dtype.bits >= _INDEX_BITS:
            return sum_
        lo, hi = self._bounds(sum_)
        if lo is None or hi is None or lo < e.dtype.min_value or hi > e.dtype.max_value:
            return self.atom(e)
        return sum_

    def atom(self, e: Expr) -> Linear:
        """The sum of this one atom, or what is known to equal it."""
        return self._known.get(e) or Linear({e: 1})

    def add(self, e: Binary) -> Linear:
        """a + b."""
        return self(e.a) + self(e.b)

    def sub(self, e: Binary) -> Linear:
        """a - b."""
        return self(e.a) - self(e.b)

    def mul(self, e: Binary) -> Linear:
        """a * b, distributed when one side is constant; else an atom over canonical factors."""
        a, b = self(e.a), self(e.b)
        if a.is_const():
            return b.scaled(a.const)
        if b.is_const():
            return a.scaled(b.const)
        factors = sorted((to_expr(a, e.dtype), to_expr(b, e.dtype)), key=_order)
        return self.atom(Binary("mul", factors[0], factors[1], e.dtype))

    def floordiv(self, e: Binary) -> Linear:
        """a // c for a constant c > 0: whole multiples leave the division, a remainder in [0, c)
        vanishes."""
        c = self(e.b)
        if not c.is_const() or c.const <= 0:
            return self.atom(e)
        return self.quotient(self(e.a), c.const, e.dtype)

    def quotient(self, a: Linear, c: int, dtype: DType) -> Linear:
        """floor(a / c)."""
        q, r = split_by(a, c)
        lo, hi = self._bounds(r)
        if lo is not None and hi is not None and lo // c == hi // c:
            return q.plus(lo // c)
        r = self._coarse(r, c)
        shared = gcd(c, *r.terms.values())  # (g*x + d) // (g*c') == x' // c': d < g adds nothing
        if shared > 1:
            r = Linear({t: k // shared for t, k in r.terms.items()}, r.const // shared)
            c //= shared
            if c == 1:
                return q + r
        return q + self.atom(Binary("floordiv", to_expr(r, dtype), Const(c, dtype), dtype))

    def _coarse(self, r: Linear, c: int) -> Linear:
        """`r` without terms that never reach the next multiple of a g that divides c and all other
        terms: (64 * k + j) // 192 == 64 * k // 192 for j < 64."""
        for g in sorted({gcd(c, k) for k in r.terms.values()} - {1}, reverse=True):
            fine = {t: k for t, k in r.terms.items() if k % g}
            lo, hi = self._bounds(Linear(fine, r.const % g))
            if lo is not None and hi is not None and lo >= 0 and hi < g:
                whole = {t: k for t, k in r.terms.items() if k % g == 0}
                return Linear(whole, r.const - r.const % g)
        return r

    def ceildiv(self, e: Binary) -> Linear:
        """ceil(a / c) == floor((a + c - 1) / c) for a constant c > 0."""
        c = self(e.b)
        if not c.is_const() or c.const <= 0:
            return self.atom(e)
        return self.quotient(self(e.a).plus(c.const - 1), c.const, e.dtype)

    def floormod(self, e: Binary) -> Linear:
        """a % c == a - c * (a // c) for a constant c > 0."""
        c = self(e.b)
        if not c.is_const() or c.const <= 0:
            return self.atom(e)
        a = self(e.a)
        return a - self.quotient(a, c.const, e.dtype).scaled(c.const)

    def extremum(self, e: Binary) -> Linear:
        """min or max: resolved when one side provably wins, else an atom of canonical operands."""
        a, b = self(e.a), self(e.b)
        lo, hi = self._bounds(a - b)
        if hi is not None and hi <= 0:
            return a if e.op == "min" else b
        if lo is not None and lo >= 0:
            return b if e.op == "min" else a
        sides = sorted((to_expr(a, e.dtype), to_expr(b, e.dtype)), key=_order)
        return self.atom(Binary(e.op, sides[0], sides[1], e.dtype))

    def truncdiv(self, e: Binary) -> Linear:
        """C division: floor division where the dividend is not negative."""
        c, a = self(e.b), self(e.a)
        lo, _ = self._bounds(a)
        if c.is_const() and c.const > 0 and lo is not None and lo >= 0:
            return self.quotient(a, c.const, e.dtype)
        return self.atom(e)

    def truncmod(self, e: Binary) -> Linear:
        """C remainder: floor modulus where the dividend is not negative."""
        c, a = self(e.b), self(e.a)
        lo, _ = self._bounds(a)
        if c.is_const() and c.const > 0 and lo is not None and lo >= 0:
            return a - self.quotient(a, c.const, e.dtype).scaled(c.const)
        return self.atom(e)

    def shl(self, e: Binary) -> Linear:
        """a << c is a * 2**c for a constant c in range."""
        c = self(e.b)
        if c.is_const() and 0 <= c.const < e.dtype.bits - 1:
            return self(e.a).scaled(1 << c.const)
        return self.atom(e)

    def shr(self, e: Binary) -> Linear:
        """a >> c is floor(a / 2**c) for a constant c in range (arithmetic shift)."""
        c = self(e.b)
        if c.is_const() and 0 <= c.const < e.dtype.bits - 1:
            return self.quotient(self(e.a), 1 << c.const, e.dtype)
        return self.atom(e)


def _widens(src: DType, dst: DType) -> bool:
    if src.is_bool:
        return dst.is_int
    if not (src.is_int and dst.is_int):
        return False
    return src.min_value >= dst.min_value and src.max_value <= dst.max_value


_WRAPPING = frozenset({"add", "sub", "mul", "shl"})
_INDEX_BITS = 32
"""Signed numbers of that width count elements of memory, which are fewer than would wrap."""

_RULES: dict[str, Callable[[Linearizer, Binary], Linear]] = {
    "add": Linearizer.add,
    "sub": Linearizer.sub,
    "mul": Linearizer.mul,
    "floordiv": Linearizer.floordiv,
    "floormod": Linearizer.floormod,
    "ceildiv": Linearizer.ceildiv,
    "truncdiv": Linearizer.truncdiv,
    "truncmod": Linearizer.truncmod,
    "min": Linearizer.extremum,
    "max": Linearizer.extremum,
    "shl": Linearizer.shl,
    "shr": Linearizer.shr,
}
