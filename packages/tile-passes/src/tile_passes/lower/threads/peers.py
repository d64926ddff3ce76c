"""What threads do to the memory and barriers of other blocks of their cluster, and bytes that a
kernel announces itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.diag import TileError
from tile_ir.ops import BarrierArrive, BarrierExpect, CopyPeer, If
from tile_ir.rewrite import replace
from tile_passes.lower.context import long_axes
from tile_passes.lower.threads.alignment import run_in_tile
from tile_passes.lower.threads.context import guarded
from tile_passes.lower.threads.elementwise import Elements, lower_single
from tile_passes.lower.threads.moves import Side
from tile_passes.lower.threads.pieces import Items, Nest, Piece
from tile_passes.lower.threads.spread import dealt

if TYPE_CHECKING:
    from tile_ir.opdef import Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_arrival", "lower_copy_peer"]

_SENT = (16, 8, 4)
"""Bytes that one thread may bring to another block at once, counted by its barrier."""
_STORED = (16, 8, 4, 2, 1)
"""The same, where no barrier counts them."""


def lower_arrival(s: Stmt, cx: ThreadContext) -> Items:
    """An arrival of every thread, or of the first for all of its role."""
    assert isinstance(s, (BarrierArrive, BarrierExpect))
    if not s.one:
        return lower_single(s, cx)
    inner = lower_single(replace(s, one=False), cx)
    head = If(cond=b.eq(cx.thread, 0), then=(), span=s.span)
    return (Nest(head, (("then", inner), ("orelse", ()))),)


def lower_copy_peer(s: Stmt, cx: ThreadContext) -> Items:
    """Runs of elements, dealt to threads.

    Raises:
        TileError: E0712 for rows that hold no whole words, where a barrier counts them.
    """
    assert isinstance(s, CopyPeer)
    sides = [Side(cx.buffers[r.buffer], r, long_axes(r), clip=False) for r in (s.src, s.dst)]
    extents = [int(s.dst.ranges[i].extent.value) for i in sides[1].axes]  # type: ignore[attr-defined]  # tiles are static
    vector = _vector(sides, extents, _STORED if s.index is None else _SENT, cx)
    if not vector:
        raise TileError(
            "E0712",
            f"rows of {s.dst.buffer} hold no whole words of {_SENT[-1]} bytes",
            s.span,
            notes=("a barrier of another block counts words that come to it",),
            help="copy without a barrier and let the cluster meet, or use wider rows",
        )
    over = cx.spread(dealt(extents, cx.threads, vector), extents, vector)
    runs = []
    for side in sides:
        (at,) = cx.place(side.buffer, side.indices(over))
        runs.append(Region(side.buffer.name, (Range(at, b.const(vector, at.dtype)),)))
    one = replace(Elements(cx).stmt(replace(s, src=s.dst, dst=s.dst))[0], src=runs[0], dst=runs[1])
    return (Piece(over.nest(guarded((one,), over.first, span=s.span), s.span)),)


def _vector(
    sides: list[Side], extents: list[int], sizes: tuple[int, ...], cx: ThreadContext
) -> int:
    """The longest run in elements that both sides hold in a row, 0 where there is none."""
    bits = sides[0].buffer.dtype.storage_bits
    last = extents[-1] if extents else 1
    for size in sizes:
        count, rest = divmod(8 * size, bits)
        if rest or not count or last % count:
            continue
        fits = (run_in_tile(x.buffer, x.region, x.axes[-1], count, cx) >= count for x in sides)
        if count == 1 or all(fits):
            return count
    return 0
