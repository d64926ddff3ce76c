"""A matrix product as plain loops, for operand types and shapes that no matrix atom serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Expr, Load, Var
from tile_ir.ops import Alloc, For, Gemm, Store
from tile_ir.types import DType, f32
from tile_passes.lower.context import ZERO, LowerContext, indices, parallel, store
from tile_passes.lower.reductions import ONE

if TYPE_CHECKING:
    from tile_ir.opdef import Body, Stmt


def lower_gemm(s: Stmt, cx: LowerContext) -> Body:
    """Per element of c: an accumulator of at least f32 over the loop along k."""
    assert isinstance(s, Gemm)
    c = cx.buffers[s.c.buffer]
    i, j = cx.loop_vars(2)
    k = cx.names.var("k")
    kind = _accumulator(c.dtype)
    acc = Buffer(name=cx.names.fresh("acc"), dtype=kind, shape=(), scope="var", span=s.span)
    at_c = _at(s.c, i, j)
    old: Expr = b.cast(b.load(c, at_c), kind)
    start = old if s.init is None else b.select(s.init, b.const(0, kind), old)
    a_at = _at(s.a, k, i) if s.transpose_a else _at(s.a, i, k)
    b_at = _at(s.b, j, k) if s.transpose_b else _at(s.b, k, j)
    a_item = b.cast(b.load(cx.buffers[s.a.buffer], a_at), kind)
    b_item = b.cast(b.load(cx.buffers[s.b.buffer], b_at), kind)
    value = Load(acc.name, (), kind)
    step = Store(
        buffer=acc.name, indices=(), value=b.add(value, b.mul(a_item, b_item)), span=s.span
    )
    depth = s.a.ranges[-2 if s.transpose_a else -1].extent
    order = "serial" if cx.strict else "vectorized"
    loop = For(var=k, start=ZERO, stop=depth, step=ONE, kind=order, body=(step,), span=s.span)
    body: Body = (
        Alloc(buffer=acc, span=s.span),
        Store(buffer=acc.name, indices=(), value=start, span=s.span),
        loop,
        store(c, at_c, value, s.span),
    )
    return parallel((i, j), [r.extent for r in s.c.ranges[-2:]], body, s.span)


def _accumulator(c: DType) -> DType:
    return f32 if c.is_float and c.bits < f32.bits else c


def _at(region: Region, row: Var, col: Var) -> tuple[Expr, ...]:
    rank = len(region.ranges)
    return indices(region, {rank - 2: row, rank - 1: col})
