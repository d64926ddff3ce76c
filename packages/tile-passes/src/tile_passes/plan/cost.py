"""Cycles of a statement on the engine that carries it out, from the rates of the target's
description.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir.core import Region
from tile_ir.expr import Call, Const, Expr, Load
from tile_ir.opdef import bodies
from tile_ir.ops import Copy, Fill, For, Gemm, Parallel, Reduce, Store
from tile_ir.rewrite import effects, stmt_exprs
from tile_passes.plan.survey import product_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt
    from tile_ir.target import TargetSpec
    from tile_ir.target.matrix import MatrixAtom

_UNKNOWN_TRIPS = 8
"""Trips assumed for a loop whose count is not constant, as a weight only."""


def product_cycles(shape: tuple[int, int, int], atom: MatrixAtom | None, spec: TargetSpec) -> float:
    """Cycles of a product, whose multiplications and additions a rate counts both; without an atom
    it runs on the vector units."""
    rate = atom.rate if atom is not None and atom.rate else spec.rates.vector_flops
    return 2 * prod(shape) / max(rate, 1.0)


def vector_cycles(stmt: Stmt, spec: TargetSpec) -> float:
    """Cycles of a statement on the vector units and the shared memory, for one core."""
    rates = spec.rates
    lanes = max(rates.vector_flops / 2, 1.0)
    if isinstance(stmt, Parallel):
        count = prod(_constant(e) for e in stmt.extents)
        return count * sum(_operations(s, spec) for s in stmt.body) / lanes
    if isinstance(stmt, For):
        return _trips(stmt) * sum(vector_cycles(s, spec) for s in stmt.body)
    if isinstance(stmt, Gemm):
        return product_cycles(product_shape(stmt), None, spec)
    if isinstance(stmt, (Reduce, Copy, Fill)):
        regions = [e.region for e in effects(stmt) if isinstance(e.region, Region)]
        return max(map(_elements, regions), default=1) / lanes
    return sum(vector_cycles(s, spec) for body in bodies(stmt) for s in body)


def _operations(stmt: Stmt, spec: TargetSpec) -> float:
    """Operations on values; those of indices are not done for each element anew."""
    nodes = {n for e in _values(stmt) for n in _of_values(e)}
    inner = sum(_operations(s, spec) for body in bodies(stmt) for s in body)
    return inner + sum(_operation(n, spec) for n in nodes)


def _values(stmt: Stmt) -> tuple[Expr, ...]:
    return (stmt.value,) if isinstance(stmt, Store) else stmt_exprs(stmt)


def _of_values(e: Expr) -> Iterator[Expr]:
    yield e
    if not isinstance(e, Load):
        for child in e.children():
            yield from _of_values(child)


def _operation(e: Expr, spec: TargetSpec) -> float:
    if isinstance(e, Call):
        return spec.rates.math.get(e.fn.removeprefix("fast_"), 4.0)
    return 0.0 if isinstance(e, (Const, Load)) or not e.children() else 1.0


def copy_bytes(buffer: Buffer) -> int:
    """Bytes of one filling of a shared buffer."""
    return prod(_constant(n) for n in buffer.shape) * buffer.dtype.storage_bits // 8


def shared_bytes(buffers: Mapping[str, Buffer], slots: Mapping[str, int]) -> int:
    """Bytes of all shared buffers with the slots given (1 where none is)."""
    return sum(
        copy_bytes(b) * slots.get(b.name, b.slots) for b in buffers.values() if b.scope == "shared"
    )


def _constant(e: Expr) -> int:
    return int(e.value) if isinstance(e, Const) else 1


def _elements(region: Region) -> int:
    return prod(_constant(r.extent) for r in region.ranges)


def _trips(loop: For) -> int:
    bounds = (loop.start, loop.stop, loop.step)
    if not all(isinstance(e, Const) for e in bounds):
        return _UNKNOWN_TRIPS
    start, stop, step = map(_constant, bounds)
    return max(0, -((start - stop) // step))
