"""Exchanges and reductions in warps by the target's exchange of registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Call, Expr, Load
from tile_ir.layout import one_row_each
from tile_ir.ops import Shuffle, Store, WarpReduce
from tile_ir.types import i32, u64
from tile_passes.lower.reductions import combine_lanes
from tile_passes.lower.threads.addresses import ZERO
from tile_passes.lower.threads.context import declared, put, whole
from tile_passes.lower.threads.moves import move
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.private import is_private
from tile_passes.lower.warps import lane_bit

if TYPE_CHECKING:
    from tile_ir.core import Buffer, Region
    from tile_ir.opdef import Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_shuffle", "lower_warp_reduce"]

_HERE = (ZERO,)
"""The one element that a thread has of an operand."""


def _own(region: Region, cx: ThreadContext) -> tuple[Buffer, Items, bool]:
    """A fragment with one element for each thread that stands for an operand, what declares it, and
    whether it is the operand itself."""
    buffer = cx.buffers[region.buffer]
    if buffer.rank == 1 and is_private(buffer):
        return buffer, (), True
    layout = one_row_each((cx.threads,))
    made, alloc = cx.fragment(f"{buffer.name}_own", buffer.dtype, (cx.threads,), layout)
    return made, (declared(alloc),), False


def _read(region: Region, cx: ThreadContext, s: Stmt) -> tuple[Load, Items]:
    own, before, itself = _own(region, cx)
    brought = () if itself else move(region, whole(own), cx, span=s.span)
    return Load(own.name, _HERE, own.dtype), (*before, *brought)


def _written(region: Region, value: Expr, cx: ThreadContext, s: Stmt) -> Items:
    own, before, itself = _own(region, cx)
    kept = Piece((put(own, _HERE, value, s.span),))
    return (*before, kept, *(() if itself else move(whole(own), region, cx, span=s.span)))


def lower_shuffle(s: Stmt, cx: ThreadContext) -> Items:
    """One exchange; lanes are taken modulo the width, which is a power of two."""
    assert isinstance(s, Shuffle)
    value, first = _read(s.src, cx, s)
    lane, then = _read(s.by, cx, s)
    inside = b.bit_and(lane, cx.target.warp_width - 1)
    found = Call("shuffle_idx", (value, inside), value.dtype)
    return (*first, *then, *_written(s.dst, found, cx, s))


def lower_warp_reduce(s: Stmt, cx: ThreadContext) -> Items:
    """Exchanges with the lane that differs in one bit, from the highest on; a ballot is one vote
    where the target has such."""
    assert isinstance(s, WarpReduce)
    value, first = _read(s.src, cx, s)
    if s.kind == "ballot" and cx.target.has("vote"):
        return (*first, *_written(s.dst, Call("ballot", (value,), u64), cx, s))
    start: Expr = value
    if s.kind == "ballot":
        start = lane_bit(value, b.bit_and(cx.thread, cx.target.warp_width - 1))
    kind = "or" if s.kind == "ballot" else s.kind
    acc, alloc = cx.array("warp", start.dtype, 1)
    mine = Load(acc.name, _HERE, acc.dtype)
    steps: list[Stmt] = [alloc, Store(buffer=acc.name, indices=_HERE, value=start, span=s.span)]
    mask = cx.target.warp_width // 2
    while mask:
        other = Call("shuffle_xor", (mine, b.const(mask, i32)), acc.dtype)
        steps.append(put(acc, _HERE, combine_lanes(kind, mine, other), s.span))
        mask //= 2
    return (*first, Piece(tuple(steps)), *_written(s.dst, mine, cx, s))
