"""Exchanges and reductions in warps as loops over an axis of threads, where there are no threads.

The values of all threads lie in an array. A reduction combines halves of a warp in the order in
which lanes exchange on a device, so that sums of floats have the same bits there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Buffer, Region
from tile_ir.expr import Const
from tile_ir.ops import Alloc, Parallel, Shuffle, WarpReduce
from tile_ir.types import i32, u64
from tile_passes.legalize.warp_width import WITHOUT_WARPS
from tile_passes.lower.context import indices, long_axes, store
from tile_passes.lower.reductions import combine

if TYPE_CHECKING:
    from tile_ir.expr import Expr, Var
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.context import LowerContext

__all__ = ["lane_bit", "lower_shuffle", "lower_warp_reduce"]


def lane_bit(holds: Expr, lane: Expr) -> Expr:
    """The bit of a lane where its value holds."""
    bit = b.shl(b.const(1, u64), b.cast(lane, u64))
    return b.select(holds, bit, b.const(0, u64))


def _size(region: Region) -> int:
    extents = [r.extent for r in region.ranges]
    return max(int(e.value) for e in extents if isinstance(e, Const))


def _at(region: Region, thread: Expr) -> tuple[Expr, ...]:
    """The indices of one thread's element."""
    axes = long_axes(region)
    return indices(region, {axes[0]: thread} if axes else {})


def lower_shuffle(s: Stmt, cx: LowerContext) -> Body:
    """Each element from its place in the same warp."""
    assert isinstance(s, Shuffle)
    src, by, dst = (cx.buffers[r.buffer] for r in (s.src, s.by, s.dst))
    (t,) = cx.loop_vars(1)
    lane = b.floormod(b.load(by, _at(s.by, t)), WITHOUT_WARPS)
    first = b.mul(b.floordiv(t, WITHOUT_WARPS), WITHOUT_WARPS)
    value = b.load(src, _at(s.src, b.add(first, lane)))
    move = store(dst, _at(s.dst, t), value, s.span)
    return (_over(t, _size(s.src), (move,), s),)


def lower_warp_reduce(s: Stmt, cx: LowerContext) -> Body:
    """Halves combined, then handed to every lane of the warp."""
    assert isinstance(s, WarpReduce)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    size = _size(s.src)
    half = WITHOUT_WARPS // 2
    kind = "or" if s.kind == "ballot" else s.kind

    def given(thread: Expr, lane: Expr) -> Expr:
        value = b.load(src, _at(s.src, thread))
        return lane_bit(value, lane) if s.kind == "ballot" else value

    part = Buffer(
        name=cx.names.fresh("warp"), dtype=dst.dtype, scope="fragment",
        shape=tuple(b.const(n, i32) for n in (size // WITHOUT_WARPS, half)), span=s.span,
    )  # fmt: skip
    out: list[Stmt] = [Alloc(buffer=part, span=s.span)]
    while half:
        w, lane = cx.loop_vars(2)
        here = b.add(b.mul(w, WITHOUT_WARPS), lane)
        if 2 * half == WITHOUT_WARPS:
            pair = [given(b.add(here, k), b.add(lane, k)) for k in (0, half)]
        else:
            pair = [b.load(part, (w, b.add(lane, k))) for k in (0, half)]
        step = store(part, (w, lane), combine(kind, pair[0], pair[1]), s.span)
        extents = tuple(b.const(n, i32) for n in (size // WITHOUT_WARPS, half))
        out.append(Parallel(vars=(w, lane), extents=extents, body=(step,), span=s.span))
        half //= 2
    (t,) = cx.loop_vars(1)
    whole = b.load(part, (b.floordiv(t, WITHOUT_WARPS), b.const(0, i32)))
    out.append(_over(t, size, (store(dst, _at(s.dst, t), whole, s.span),), s))
    return tuple(out)


def _over(t: Var, size: int, body: Body, s: Stmt) -> Stmt:
    return Parallel(vars=(t,), extents=(b.const(size, i32),), body=body, span=s.span)
