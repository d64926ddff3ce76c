"""Reductions and scans as loops around one accumulator.

A sum accumulates in at least f32 and is rounded once. Unless numerics are strict the order inside a
reduction is free, which the loop says by its kind `vectorized`; a scan keeps its order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer
from tile_ir.diag import InternalError
from tile_ir.expr import Call, Const, Expr, Load
from tile_ir.ops import Alloc, For, Reduce, Scan, Store
from tile_ir.types import DType, f32, i32
from tile_passes.lower.context import ZERO, LowerContext, element_value, indices, parallel, store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.opdef import Body, Stmt

ONE = b.const(1, i32)
_SUMS = frozenset({"sum", "abssum"})
_ABSOLUTE = {"absmax": "max", "abssum": "sum"}


def accumulator_type(kind: str, src: DType, dst: DType) -> DType:
    """Where a reduction accumulates: a float sum in at least f32, all else in the destination's
    type.
    """
    if kind in _SUMS and dst.is_float:
        return dst if dst.bits > f32.bits else f32
    if kind in _SUMS:
        return dst
    return src


def identity(kind: str, dtype: DType) -> Const:
    """The value that leaves every other unchanged."""
    if kind in ("sum", "abssum", "or", "xor", "absmax"):
        return b.const(0, dtype)  # type: ignore[return-value]  # a scalar constant is a Const
    if kind == "and":
        value: int | float = True if dtype.is_bool else -1 if dtype.is_signed else dtype.max_value
        return Const(value, dtype)
    low = kind == "max"
    if dtype.format is not None and dtype.format.has_inf:
        return Const(-math.inf if low else math.inf, dtype)
    return Const(dtype.min_value if low else dtype.max_value, dtype)


def combine(kind: str, a: Expr, x: Expr, nan: str = "propagate") -> Expr:
    """The accumulator after one more value."""
    op = _ABSOLUTE.get(kind, kind)
    if kind in _ABSOLUTE:
        x = b.abs_(x) if x.dtype.is_signed else x
    if op == "sum":
        return b.add(a, x)
    if op in ("max", "min") and nan == "ignore" and a.dtype.is_float:
        return Call(f"{op}_num", (a, x), a.dtype)
    if a.dtype.is_bool:
        return _logic(op, a, x)
    return b.binary(op, a, x)


def combine_lanes(kind: str, mine: Expr, other: Expr, nan: str = "propagate") -> Expr:
    """The same for a value that an exchange brings from another lane.

    Every lane has to take part in the exchange, so it stands first where the operator may skip its
    second operand.
    """
    first, second = (other, mine) if mine.dtype.is_bool else (mine, other)
    return combine(kind, first, second, nan)


def _logic(op: str, a: Expr, x: Expr) -> Expr:
    rules: dict[str, Callable[[Expr, Expr], Expr]] = {
        "and": b.land,
        "min": b.land,
        "or": b.lor,
        "max": b.lor,
        "xor": b.ne,
    }
    return rules[op](a, x)


def lower_reduce(s: Stmt, cx: LowerContext) -> Body:
    """Per element of the result: an accumulator, a loop along the axis, one store."""
    assert isinstance(s, Reduce)
    if s.parts:
        raise InternalError("E9001", "parts of a sum belong to threads", span=s.span)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    rank = len(s.src.ranges)
    dim = s.dim % rank
    kept = tuple(a for a in range(rank) if a != dim)
    loop = dict(zip(kept, cx.loop_vars(len(kept)), strict=True))
    r = cx.names.var("r")
    kind = accumulator_type(s.kind, src.dtype, dst.dtype)
    acc = Buffer(name=cx.names.fresh("acc"), dtype=kind, shape=(), scope="var", span=s.span)
    item = b.cast(b.load(src, indices(s.src, {**loop, dim: r})), kind)
    step = Store(
        buffer=acc.name, indices=(), value=combine(s.kind, _value(acc), item, s.nan), span=s.span
    )
    at = indices(s.dst, _result_axes(s, loop))
    total: Expr = _value(acc)
    if not s.clear:
        total = combine(s.kind, b.cast(b.load(dst, at), kind), total, s.nan)
    body: Body = (
        Alloc(buffer=acc, span=s.span),
        Store(buffer=acc.name, indices=(), value=identity(s.kind, kind), span=s.span),
        For(
            var=r, start=ZERO, stop=s.src.ranges[dim].extent, step=ONE,
            kind="serial" if cx.strict else "vectorized", body=(step,), span=s.span,
        ),
        store(dst, at, total, s.span),
    )  # fmt: skip
    return parallel(tuple(loop.values()), [s.src.ranges[a].extent for a in kept], body, s.span)


def _value(acc: Buffer) -> Load:
    return Load(acc.name, (), acc.dtype)


def _result_axes(s: Reduce, loop: Mapping[int, Expr]) -> dict[int, Expr]:
    """The loop variable of each axis of the destination, whose reduced axis is absent or of extent
    1.
    """
    if len(s.dst.ranges) == len(s.src.ranges):
        return dict(loop)
    return dict(enumerate(loop.values()))


def lower_scan(s: Stmt, cx: LowerContext) -> Body:
    """Per line: an accumulator carried along the axis, stored at every step."""
    assert isinstance(s, Scan)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    rank = len(s.src.ranges)
    dim = s.dim % rank
    kept = tuple(a for a in range(rank) if a != dim)
    loop = dict(zip(kept, cx.loop_vars(len(kept)), strict=True))
    r = cx.names.var("r")
    kind = accumulator_type(s.kind, src.dtype, dst.dtype)
    acc = Buffer(name=cx.names.fresh("acc"), dtype=kind, shape=(), scope="var", span=s.span)
    extent = s.src.ranges[dim].extent
    here: Expr = b.sub(b.sub(extent, 1), r) if s.reverse else r
    item = b.cast(b.load(src, indices(s.src, {**loop, dim: here})), kind)
    steps: Body = (
        Store(buffer=acc.name, indices=(), value=combine(s.kind, _value(acc), item), span=s.span),
        Store(
            buffer=dst.name, indices=indices(s.dst, {**loop, dim: here}),
            value=element_value(_value(acc), dst), span=s.span,
        ),
    )  # fmt: skip
    body: Body = (
        Alloc(buffer=acc, span=s.span),
        Store(buffer=acc.name, indices=(), value=identity(s.kind, kind), span=s.span),
        For(var=r, start=ZERO, stop=extent, step=ONE, body=steps, span=s.span),
    )
    return parallel(tuple(loop.values()), [s.src.ranges[a].extent for a in kept], body, s.span)
