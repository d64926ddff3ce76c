"""Fourier-Motzkin elimination over integers: does a system of inequalities `sum >= 0` have no
solution?

Rational elimination, with every inequality divided by the divisor of its coefficients and its
constant rounded down (an integer point cannot lie in between). It refutes soundly and gives up,
rather than grow, past a size limit.
"""

from __future__ import annotations

from collections import defaultdict
from math import gcd
from typing import TYPE_CHECKING

from tile_passes.analysis.linear import Linear

if TYPE_CHECKING:
    from tile_ir.expr import Expr

_LIMIT = 160
"""Inequalities after which the attempt is abandoned: systems of real kernels stay below 40."""


def _tighten(s: Linear) -> Linear:
    g = gcd(*s.terms.values())
    if g <= 1:
        return s
    return Linear({a: c // g for a, c in s.terms.items()}, s.const // g)


def _reduced(system: list[Linear]) -> list[Linear] | None:
    """Tightened, the strictest inequality per direction; None when one is plainly false."""
    best: dict[frozenset[tuple[Expr, int]], Linear] = {}
    for s in map(_tighten, system):
        if not s.terms:
            if s.const < 0:
                return None
            continue
        direction = frozenset(s.terms.items())
        if direction not in best or s.const < best[direction].const:
            best[direction] = s
    return list(best.values())


def _cheapest(system: list[Linear]) -> Expr:
    """The atom whose elimination adds the fewest inequalities."""
    up: dict[Expr, int] = defaultdict(int)
    down: dict[Expr, int] = defaultdict(int)
    for s in system:
        for atom, c in s.terms.items():
            (up if c > 0 else down)[atom] += 1
    atoms = [*up, *(a for a in down if a not in up)]
    return min(atoms, key=lambda a: up[a] * down[a] - up[a] - down[a])


def refuted(system: list[Linear]) -> bool:
    """Whether no integers satisfy every `sum >= 0` of `system`. False when that was not shown."""
    current = _reduced(system)
    while current:
        atom = _cheapest(current)
        positive = [s for s in current if s.terms.get(atom, 0) > 0]
        negative = [s for s in current if s.terms.get(atom, 0) < 0]
        rest = [s for s in current if atom not in s.terms]
        rest += [
            p.scaled(-n.terms[atom]) + n.scaled(p.terms[atom]) for p in positive for n in negative
        ]
        if len(rest) > _LIMIT:
            return False
        current = _reduced(rest)
    return current is None
