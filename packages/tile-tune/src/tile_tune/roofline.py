"""A time that no schedule of the program can beat: its products at the matrix units' full rate, its
arrays over the memory's full width.

The bound is from below and rough on purpose. It rules out candidates whose tiles do far more work
than the problem has (tiles that hang over the edge), and never one that could be the fastest.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_frontend.dims import evaluate
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.opdef import bodies
from tile_ir.ops import Break, For, Gemm, If, Tiles
from tile_ir.rewrite import declared, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tile_ir.core import Function
    from tile_ir.opdef import Body
    from tile_ir.target import TargetSpec

__all__ = ["lower_bound_ms"]


def lower_bound_ms(fn: Function, spec: TargetSpec, dims: Mapping[str, int]) -> float:
    """Milliseconds below which the function cannot be; 0 where the description has no rates.

    Arithmetic: multiply-adds of all tiles, as launched, over `rate * cores * clock` of the fastest
    matrix instruction for the operand types. Bytes: every array parameter once, over
    `device_bytes * clock`.
    """
    rates = spec.rates
    if rates.clock_hz <= 0:
        return 0.0
    cycles = max(_product_cycles(fn, spec, dims) / max(1, rates.cores), 0.0)
    if rates.device_bytes > 0 and spec.family != "cpu":  # a host's caches may hold all of it
        cycles = max(cycles, _array_bytes(fn, dims) / rates.device_bytes)
    return cycles / rates.clock_hz * 1e3


def _product_cycles(fn: Function, spec: TargetSpec, dims: Mapping[str, int]) -> float:
    """Cycles of one core for every product of the function."""
    buffers = declared(fn)
    total = 0.0
    for gemm, trips in _products(fn.body, dims, 1.0):
        a, b, c = (buffers[r.buffer].dtype.name for r in (gemm.a, gemm.b, gemm.c))
        atoms = spec.atoms(a, b, c)
        if not atoms or atoms[0].rate <= 0:
            continue
        m, n = (_value(r.extent, dims, 0) for r in gemm.c.ranges[-2:])
        k = _value(gemm.a.ranges[-2 if gemm.transpose_a else -1].extent, dims, 0)
        # A rate counts multiplications and additions.
        total += trips * 2.0 * m * n * k / atoms[0].rate
    return total


def _products(body: Body, dims: Mapping[str, int], trips: float) -> Iterator[tuple[Gemm, float]]:
    """The products and how often each runs at least; loops of unknown length count once, what is
    under a condition not at all."""
    for s in body:
        if isinstance(s, Gemm):
            yield s, trips
            continue
        inner = trips
        if isinstance(s, Tiles):
            inner *= prod(max(1, _value(e, dims, 1)) for e in s.extents)
        elif isinstance(s, If):
            inner = 0.0
        elif isinstance(s, For) and not any(isinstance(x, Break) for x in walk(s.body)):
            span = _value(s.stop, dims, 1) - _value(s.start, dims, 0)
            step = s.step.value if isinstance(s.step, Const) else 1
            inner *= max(1, -(-span // int(step)) if step else 1)
        for nested in bodies(s):
            yield from _products(nested, dims, inner)


def _array_bytes(fn: Function, dims: Mapping[str, int]) -> float:
    arrays = (p.buffer for p in fn.params if p.buffer is not None)
    return sum(prod(_value(e, dims, 1) for e in b.shape) * b.dtype.storage_bits / 8 for b in arrays)


def _value(expr: Expr, dims: Mapping[str, int], unknown: int) -> int:
    try:
        return evaluate(expr, dims)
    except (KeyError, InternalError, ZeroDivisionError):
        return unknown
