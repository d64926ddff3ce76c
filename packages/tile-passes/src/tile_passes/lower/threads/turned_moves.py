"""Moves between registers and shared tiles whose rows are not what lies side by side.

A tile that is stored column by column takes runs down its columns. A thread that has such a run
moves it in one access; where its registers count another axis first, they are gathered on the way,
which costs packing and no memory.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Expr, Load
from tile_ir.ops import For
from tile_passes.lower.threads.addresses import ZERO, bits_of, tile_layout
from tile_passes.lower.threads.alignment import run_in_tile
from tile_passes.lower.threads.context import guarded, put
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.spread import ONE, box_axes, register, relabel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer
    from tile_ir.diag import Span
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext
    from tile_passes.lower.threads.moves import Side

__all__ = ["turned_move"]


def turned_move(
    a: Side, c: Side, extents: Sequence[int], cx: ThreadContext, span: Span | None
) -> Items | None:
    """The move of a box from `a` to `c`, one of them in registers and one a shared tile stored
    along another axis than its last; None where it is no such move, or no thread has a run.
    """
    memory, held = (c, a) if a.in_registers else (a, c)
    axis = _fast_axis(memory)
    if memory.in_registers or not held.in_registers or axis is None:
        return None
    order = [*(i for i in range(len(extents)) if i != axis), axis]
    memory, held = (replace(s, axes=tuple(s.axes[i] for i in order)) for s in (memory, held))
    box = [extents[i] for i in order]
    own, last = _over(held, len(box), cx), f"d{len(box) - 1}"
    runs = (i for i, d in enumerate(own.value) if d.axis == last and d.stride == 1)
    at = next(runs, None)
    if at is None:
        return None
    vector = _vector(memory, own.value[at].extent, box[-1], cx)
    if vector == 1:
        return None
    first = (own.value[at], *own.value[:at], *own.value[at + 1 :])
    over = cx.spread(replace(own, value=first), box, vector)
    start = register(cx.layout(held.buffer), over, held.box_axes())
    assert start is not None  # the spread counts this side's own values, in another order
    place = cx.place(memory.buffer, memory.indices(over))
    step = prod(d.extent for d in own.value[:at])
    if memory.buffer is c.buffer:
        body = _put_down(held.buffer, start, step, memory.buffer, place, vector, cx, span)
        return (Piece(over.nest(guarded(body, over.first, span=span), span)),)
    body = _picked_up(memory.buffer, place, held.buffer, start, step, vector, cx, span)
    return (Piece(over.nest(body, span)),)


def _fast_axis(side: Side) -> int | None:
    """The box's axis along which a shared tile's elements lie side by side; None where that is the
    last one, or none."""
    if side.buffer.scope != "shared":
        return None
    inputs = tile_layout(side.buffer).inputs
    for i, axis in enumerate(side.axes[:-1]):
        if inputs[axis].digits and inputs[axis].digits[0].stride == 1:
            return i
    return None


def _over(side: Side, rank: int, cx: ThreadContext) -> FragmentLayout:
    """The layout of registers over the axes of the box."""
    held = cx.layout(side.buffer)
    order = side.box_axes()
    names = {
        name: None if i is None else f"d{i}" for name, i in zip(held.outputs, order, strict=True)
    }
    return relabel(held, names, box_axes(rank))


def _vector(memory: Side, run: int, extent: int, cx: ThreadContext) -> int:
    """Elements of one access: a power of two that divides a thread's run and the box."""
    bits = memory.buffer.dtype.storage_bits
    top = max((8 * n // bits for n in cx.target.access_bytes if 8 * n >= bits), default=1)
    if bits_of(top) is None:
        return 1
    vector = run_in_tile(memory.buffer, memory.region, memory.axes[-1], top, cx)
    while vector > 1 and (run % vector or extent % vector):
        vector //= 2
    return vector


def _lanes(at: Expr, lanes: int) -> tuple[Expr, ...]:
    return (b.ramp(at, 1, lanes),)


def _each(vector: int, lane: Expr, step: Stmt, span: Span | None) -> For:
    stop = b.const(vector, ONE.dtype)
    return For(var=lane, start=ZERO, stop=stop, step=ONE, kind="unroll", body=(step,), span=span)  # type: ignore[arg-type]  # made as a variable


def _put_down(
    held: Buffer,
    start: Expr,
    step: int,
    tile: Buffer,
    place: tuple[Expr, ...],
    vector: int,
    cx: ThreadContext,
    span: Span | None,
) -> Body:
    kind = tile.dtype.with_lanes(vector)
    if step == 1 and held.dtype is tile.dtype:
        value = Load(held.name, _lanes(start, vector), kind)
        return (put(tile, _lanes(place[0], vector), value, span),)
    run, alloc = cx.array("run", tile.dtype, vector)
    lane = cx.names.var("v")
    item = Load(held.name, (b.add(start, b.mul(lane, step)),), held.dtype)
    gather = _each(vector, lane, put(run, (lane,), b.cast(item, tile.dtype), span), span)
    value = Load(run.name, _lanes(ZERO, vector), kind)
    return (alloc, gather, put(tile, _lanes(place[0], vector), value, span))


def _picked_up(
    tile: Buffer,
    place: tuple[Expr, ...],
    held: Buffer,
    start: Expr,
    step: int,
    vector: int,
    cx: ThreadContext,
    span: Span | None,
) -> Body:
    fetched = Load(tile.name, _lanes(place[0], vector), tile.dtype.with_lanes(vector))
    if step == 1 and held.dtype is tile.dtype:
        return (put(held, _lanes(start, vector), fetched, span),)
    run, alloc = cx.array("run", tile.dtype, vector)
    lane = cx.names.var("v")
    item = b.cast(Load(run.name, (lane,), tile.dtype), held.dtype)
    deal = _each(vector, lane, put(held, (b.add(start, b.mul(lane, step)),), item, span), span)
    return (alloc, put(run, _lanes(ZERO, vector), fetched, span), deal)
