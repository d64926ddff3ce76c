"""The steps along k of one product that a single statement can start: an unrolled loop around one
asynchronous matrix instruction, on one accumulator, with operands at constant distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Binary, Const, Unary, Var, rewrite
from tile_ir.ops import Atom, For
from tile_ir.rewrite import map_all_exprs
from tile_passes.analysis.linear import Linearizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt
    from tile_passes.analysis.linear import Linear

__all__ = ["constant_distances", "follow_each_other", "steps_of"]


def steps_of(loop: Stmt) -> tuple[Atom, ...]:
    """The instructions of a loop that is unrolled around one that accumulates, in order; none for
    any other loop, and none where one but the first may overwrite."""
    if not isinstance(loop, For) or loop.kind != "unroll" or len(loop.body) != 1:
        return ()
    (only,) = loop.body
    bounds = (loop.start, loop.stop, loop.step)
    if not isinstance(only, Atom) or not all(isinstance(e, Const) for e in bounds):
        return ()
    trips = range(*(int(e.value) for e in bounds if isinstance(e, Const)))
    made = tuple(_at(only, loop.var, trip) for trip in trips)
    return made if all(_continues(s, made[0]) for s in made[1:]) else ()


def _at(atom: Atom, var: Var, trip: int) -> Atom:
    memo: dict[Expr, Expr] = {}

    def folded(e: Expr) -> Expr | None:
        if e is var:
            return Const(trip, var.dtype)
        if isinstance(e, Binary):
            return b.binary(e.op, e.a, e.b)
        return b.unary(e.op, e.a) if isinstance(e, Unary) else None

    (made,) = map_all_exprs((atom,), lambda e: rewrite(e, folded, memo))
    assert isinstance(made, Atom)  # expressions were replaced, nothing else
    return made


def _continues(s: Atom, first: Atom) -> bool:
    """Whether a step adds to the accumulator of the first one."""
    return (s.init is None or s.init == b.const(False)) and s.c == first.c


def constant_distances(places: Sequence[Expr]) -> tuple[int, ...] | None:
    """How far each place after the first is from it; None where that is not known."""
    form = Linearizer({}, lambda _: (None, None))
    first, *others = [form(place) for place in places]
    moves: list[Linear] = [other - first for other in others]
    return tuple(m.const for m in moves) if all(m.is_const() for m in moves) else None


def follow_each_other(steps: Sequence[Atom]) -> bool:
    """Whether each step's A is in registers right behind that of the step before."""
    ranges = [s.a.ranges[-1] for s in steps]
    values = ranges[0].extent
    if not isinstance(values, Const) or len(steps[0].a.ranges) != 1:
        return False
    moves = constant_distances([r.start for r in ranges])
    return moves == tuple(i * int(values.value) for i in range(1, len(steps)))
