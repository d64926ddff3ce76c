"""Copies, fills and transpositions as element loops, with bounds taken out of the loops.

A side that may leave its buffer (`clip`) shrinks the loops to the part inside; what a source lacks
is filled with its safe value by loops of their own. No element is guarded by a condition of its
own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Expr
from tile_ir.opdef import Body
from tile_ir.ops import Copy, Fill, If, Transpose
from tile_passes.lower.context import (
    ZERO,
    LowerContext,
    Window,
    bind,
    indices,
    is_unit,
    long_axes,
    parallel,
    store,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.core import Buffer, Region
    from tile_ir.diag import Span
    from tile_ir.opdef import Stmt


def lower_copy(s: Stmt, cx: LowerContext) -> Body:
    """Loops over the destination's box; converting stores."""
    assert isinstance(s, Copy)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    from_axes, to_axes = long_axes(s.src), long_axes(s.dst)
    whole = [Window(ZERO, s.dst.ranges[a].extent) for a in to_axes]
    written, read = list(whole), list(whole)
    if s.clip:
        written = _windows(s.dst, dst, to_axes, cx)
        read = _windows(s.src, src, from_axes, cx)
    both = [_meet(w, r, x) for w, r, x in zip(written, read, whole, strict=True)]
    inside, lets = bind(both, cx, _stems(len(to_axes)), s.span)
    written = [i if m is w else w for i, m, w in zip(inside, both, written, strict=True)]

    def move(shifted: list[Expr]) -> Body:
        at_src = indices(s.src, dict(zip(from_axes, shifted, strict=True)))
        at_dst = indices(s.dst, dict(zip(to_axes, shifted, strict=True)))
        return (store(dst, at_dst, b.load(src, at_src), s.span),)

    body: Body = (*lets, *_loops(inside, move, cx, s.span))
    if not s.clip:
        return body
    blank = b.cast(src.safe_value, dst.dtype) if src.safe_value else b.const(0, dst.dtype)

    def clear(shifted: list[Expr]) -> Body:
        at_dst = indices(s.dst, dict(zip(to_axes, shifted, strict=True)))
        return (store(dst, at_dst, blank, s.span),)

    if read != whole:
        body = (*body, *_remainder(written, inside, clear, cx, s.span))
    outside = _guard(s.src, src, cx)
    if outside is not None:
        body = (
            If(cond=outside, then=body, orelse=_loops(written, clear, cx, s.span), span=s.span),
        )
    return _guarded(body, _guard(s.dst, dst, cx), s.span)


def lower_fill(s: Stmt, cx: LowerContext) -> Body:
    """Loops over the part of the region inside its buffer."""
    assert isinstance(s, Fill)
    dst = cx.buffers[s.dst.buffer]
    axes = long_axes(s.dst)
    box = [Window(ZERO, s.dst.ranges[a].extent) for a in axes]
    if s.clip:
        box = _windows(s.dst, dst, axes, cx)
    box, lets = bind(box, cx, _stems(len(axes)), s.span)

    def put(shifted: list[Expr]) -> Body:
        at = indices(s.dst, dict(zip(axes, shifted, strict=True)))
        return (store(dst, at, s.value, s.span),)

    body = (*lets, *_loops(box, put, cx, s.span))
    return _guarded(body, _guard(s.dst, dst, cx) if s.clip else None, s.span)


def lower_transpose(s: Stmt, cx: LowerContext) -> Body:
    """dst[..., j, i] = src[..., i, j], in the order of the destination."""
    assert isinstance(s, Transpose)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    # A slot of a channel is one axis more, in front.
    rank = min(len(s.src.ranges), len(s.dst.ranges))
    loop = cx.loop_vars(rank)
    at_dst = indices(s.dst, _last_axes(s.dst, loop))
    at_src = indices(s.src, _last_axes(s.src, (*loop[:-2], loop[-1], loop[-2])))
    body = (store(dst, at_dst, b.load(src, at_src), s.span),)
    return parallel(loop, [r.extent for r in s.dst.ranges[-rank:]], body, s.span)


def _last_axes(region: Region, loop: Sequence[Expr]) -> dict[int, Expr]:
    """The iteration of each of the region's last axes."""
    return dict(enumerate(loop, len(region.ranges) - len(loop)))


def _stems(rank: int) -> tuple[str, ...]:
    named = {1: ("count",), 2: ("rows", "cols")}
    return named.get(rank) or tuple(f"n{i}" for i in range(rank))


def _windows(
    region: Region, buffer: Buffer, axes: tuple[int, ...], cx: LowerContext
) -> list[Window]:
    """The windows of the given axes; the whole range in scopes that are never left."""
    if buffer.scope != "global":
        return [Window(ZERO, region.ranges[a].extent) for a in axes]
    return [window(region.ranges[a], buffer.shape[a], cx.facts) for a in axes]


def _meet(a: Window, c: Window, whole: Window) -> Window:
    if c == whole or a == c:
        return a
    if a == whole:
        return c
    low, high = b.maximum(a.low, c.low), b.minimum(a.high, c.high)
    return Window(low, high if low is ZERO else b.maximum(high, low))


def _guard(region: Region, buffer: Buffer, cx: LowerContext) -> Expr | None:
    """The condition that the single coordinates of a region are inside, or None when that is
    proved.
    """
    if buffer.scope != "global":
        return None
    out: Expr | None = None
    for r, extent in zip(region.ranges, buffer.shape, strict=True):
        if not is_unit(r):
            continue
        for cond in (b.ge(r.start, 0), b.lt(r.start, extent)):
            if cx.facts.prove(cond) is not True:
                out = cond if out is None else b.land(out, cond)
    return out


def _guarded(body: Body, cond: Expr | None, span: Span | None) -> Body:
    return body if cond is None else (If(cond=cond, then=body, span=span),)


Make = Callable[[list[Expr]], Body]
"""What one iteration does, given the iteration of each axis."""


def _loops(box: list[Window], make: Make, cx: LowerContext, span: Span | None) -> Body:
    loop = cx.loop_vars(len(box))
    shifted = [b.add(v, w.low) for v, w in zip(loop, box, strict=True)]
    return parallel(loop, [w.extent for w in box], make(shifted), span)


def _remainder(
    box: list[Window], hole: list[Window], make: Make, cx: LowerContext, span: Span | None
) -> Body:
    """Loops over the part of a box outside a hole in it: per axis the slabs below and above."""
    out: list[Stmt] = []
    for axis, (w, h) in enumerate(zip(box, hole, strict=True)):
        for slab in (Window(w.low, h.low), Window(h.high, w.high)):
            if slab.low == slab.high:
                continue
            part = [*hole[:axis], slab, *box[axis + 1 :]]
            out += _loops(part, make, cx, span)
    return tuple(out)
