"""Cycles of the vector units for a parallel loop, as generated code does the work: what several
iterations have in common is computed once, indices are constants of unrolled code, and two halves
share an instruction.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.expr import Binary, Call, Cast, Const, Expr, Load, Select, Unary, Var
from tile_ir.opdef import bodies
from tile_ir.ops import Let, Parallel, Store
from tile_ir.rewrite import stmt_exprs, substitute
from tile_passes.model.values import Values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.opdef import Body
    from tile_ir.target import TargetSpec

__all__ = ["parallel_cycles"]

UNLISTED = 4.0
"""Additions that a function takes which the description does not list."""
WORD_BITS = 32
MOST_VALUES = 256
"""Values of an iteration variable that are looked at; longer loops repeat."""


def parallel_cycles(stmt: Parallel, spec: TargetSpec) -> float:
    """Cycles of one core for all iterations."""
    lanes = max(spec.rates.vector_flops / 2, 1.0)
    extents = {v: _constant(e) for v, e in zip(stmt.vars, stmt.extents, strict=True)}
    nodes: dict[Expr, None] = {}
    for e in _values(stmt.body, {}):
        nodes.update(dict.fromkeys(_inside(e)))
    total = 0.0
    for node in nodes:
        cost = _cost(node, spec)
        if cost:
            total += cost * _instances(node, extents)
    return total / lanes


def _constant(e: Expr) -> int:
    return int(e.value) if isinstance(e, Const) else 1


def _values(body: Body, known: Mapping[Var, Expr]) -> Iterator[Expr]:
    """What is computed, with names replaced by what they are bound to."""
    env = dict(known)
    for stmt in body:
        put = substitute(env)
        if isinstance(stmt, Let):
            env[stmt.var] = put(stmt.value)
            continue
        own = (stmt.value,) if isinstance(stmt, Store) else stmt_exprs(stmt)
        yield from map(put, own)
        for inner in bodies(stmt):
            yield from _values(inner, env)


def _inside(e: Expr) -> Iterator[Expr]:
    """The nodes of a value; those of indices are not instructions of every element."""
    yield e
    if not isinstance(e, Load):
        for child in e.children():
            yield from _inside(child)


def _of_data(e: Expr) -> bool:
    return isinstance(e, Load) or any(_of_data(c) for c in e.children())


def _cost(e: Expr, spec: TargetSpec) -> float:
    """Instructions of one evaluation, in f32 additions; none for what only depends on indices and
    for what renames registers."""
    if not isinstance(e, (Binary, Call, Cast, Select, Unary)) or not _of_data(e):
        return 0.0
    words = max(1.0, e.dtype.lanes * e.dtype.bits / WORD_BITS)
    if isinstance(e, Call):
        if e.fn.endswith("_lanes"):
            return 0.0
        return spec.rates.math.get(e.fn.removeprefix("fast_"), UNLISTED) * words
    if isinstance(e, Cast):
        return 0.0 if e.dtype.is_int and e.a.dtype.is_int else words
    if isinstance(e, Select):
        return 0.0 if e.cond.dtype.lanes > 1 else words
    if isinstance(e, Binary) and e.op == "div":
        return spec.rates.math.get("div", UNLISTED) * words
    return 0.0 if e.dtype.lanes > 1 and e.dtype.name.startswith("bool") else words


def _instances(node: Expr, extents: Mapping[Var, int]) -> float:
    """How many different evaluations the loop has: for each variable those that differ along it."""
    leaves = tuple(_index_parts(node))
    return prod(_differing(leaves, var, n, extents) for var, n in extents.items())


def _differing(
    leaves: tuple[Expr, ...], var: Var, extent: int, extents: Mapping[Var, int]
) -> float:
    if not any(_mentions(e, var) for e in leaves):
        return 1.0
    values = Values({}, {}, 1, dict.fromkeys(extents, 0))
    looked = min(extent, MOST_VALUES)
    seen = set()
    for i in range(looked):
        values.bound[var] = i
        seen.add(tuple(values.of(e) for e in leaves))
    return len(seen) * extent / looked


def _index_parts(e: Expr) -> Iterator[Expr]:
    """The largest parts that do not depend on data."""
    if not _of_data(e):
        yield e
        return
    for child in e.children():
        yield from _index_parts(child)


def _mentions(e: Expr, var: Var) -> bool:
    return e is var or any(_mentions(c, var) for c in e.children())
