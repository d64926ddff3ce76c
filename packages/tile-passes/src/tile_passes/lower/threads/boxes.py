"""Copies, fills, reductions and tile atomics as independent element iterations, where no better
form exists: symbolic extents, updates of memory, and what each thread does by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Expr
from tile_ir.ops import Atomic, AtomicTile, Copy, Fill, If, Reduce
from tile_passes.lower.atomics import inside
from tile_passes.lower.context import element_value, indices, long_axes, parallel, store
from tile_passes.lower.reductions import lower_reduce

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.context import LowerContext

__all__ = ["box_of_atomic", "box_of_copy", "box_of_fill", "box_of_reduce"]


def _static(region: Region) -> bool:
    return all(isinstance(r.extent, Const) for r in region.ranges)


def _exists(
    region: Region, at: tuple[Expr, ...], buffer: Buffer, clip: bool, cx: LowerContext
) -> Expr | None:
    """The condition that an element is inside its buffer, less what the whole region proves."""
    if not clip or buffer.scope != "global":
        return None
    proved = {
        axis
        for axis, (r, extent) in enumerate(zip(region.ranges, buffer.shape, strict=True))
        if cx.facts.prove(b.ge(r.start, 0)) is True
        and cx.facts.prove(b.le(b.add(r.start, r.extent), extent)) is True
    }
    return inside(at, buffer, cx, proved)


def box_of_copy(s: Stmt, cx: LowerContext) -> Body | None:
    """`if (target inside) store target, source inside ? load : safe`, for symbolic extents."""
    assert isinstance(s, Copy)
    if _static(s.dst) and _static(s.src):
        return None
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    from_axes, to_axes = long_axes(s.src), long_axes(s.dst)
    loop = cx.loop_vars(len(to_axes))
    at_src = indices(s.src, dict(zip(from_axes, loop, strict=True)))
    at_dst = indices(s.dst, dict(zip(to_axes, loop, strict=True)))
    value: Expr = b.load(src, at_src)
    readable = _exists(s.src, at_src, src, s.clip, cx)
    if readable is not None:
        blank = b.const(0, src.dtype) if src.safe_value is None else src.safe_value
        value = b.select(readable, value, blank)
    body: Body = (store(dst, at_dst, value, s.span),)
    writable = _exists(s.dst, at_dst, dst, s.clip, cx)
    if writable is not None:
        body = (If(cond=writable, then=body, span=s.span),)
    return parallel(loop, [s.dst.ranges[a].extent for a in to_axes], body, s.span)


def box_of_fill(s: Stmt, cx: LowerContext) -> Body | None:
    """`if (inside) store`, for symbolic extents."""
    assert isinstance(s, Fill)
    if _static(s.dst):
        return None
    dst = cx.buffers[s.dst.buffer]
    axes = long_axes(s.dst)
    loop = cx.loop_vars(len(axes))
    at = indices(s.dst, dict(zip(axes, loop, strict=True)))
    body: Body = (store(dst, at, s.value, s.span),)
    writable = _exists(s.dst, at, dst, s.clip, cx)
    if writable is not None:
        body = (If(cond=writable, then=body, span=s.span),)
    return parallel(loop, [s.dst.ranges[a].extent for a in axes], body, s.span)


def box_of_reduce(s: Stmt, cx: LowerContext) -> Body | None:
    """A loop along the axis for each result, where every thread has the whole source."""
    assert isinstance(s, Reduce)
    return lower_reduce(s, cx) if cx.buffers[s.src.buffer].scope == "local" else None


def box_of_atomic(s: Stmt, cx: LowerContext) -> Body:
    """`if (inside) atomic` for each element."""
    assert isinstance(s, AtomicTile)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    from_axes, to_axes = long_axes(s.src), long_axes(s.dst)
    loop = cx.loop_vars(len(to_axes))
    at_src = indices(s.src, dict(zip(from_axes, loop, strict=True)))
    at_dst = indices(s.dst, dict(zip(to_axes, loop, strict=True)))
    value = element_value(b.load(src, at_src), dst)
    body: Body = (
        Atomic(
            kind=s.kind, buffer=dst.name, indices=at_dst, value=value, order=s.order, span=s.span
        ),
    )
    writable = _exists(s.dst, at_dst, dst, s.clip, cx)
    if writable is not None:
        body = (If(cond=writable, then=body, span=s.span),)
    return parallel(loop, [s.dst.ranges[a].extent for a in to_axes], body, s.span)
