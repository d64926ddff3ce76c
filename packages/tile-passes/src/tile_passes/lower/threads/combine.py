"""Sums over the blocks of a cluster: every thread sends what it has to its like in the first block.

Fragments lie alike in all blocks, so that no element has to be found: the words of each thread lie
behind each other in runs that one store carries, runs of neighbouring threads beside each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Load
from tile_ir.ops import BarrierExpect, BarrierWait, Combine, CopyPeer, For, If
from tile_ir.types import i32
from tile_passes.lower.threads.context import put
from tile_passes.lower.threads.pieces import Items, Nest, Piece

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_combine"]

_RUNS = (4, 2, 1)
"""Words that one thread brings to another block at once."""


def lower_combine(s: Stmt, cx: ThreadContext) -> Items:
    """The other block sends; the first one waits for as many bytes and adds."""
    assert isinstance(s, Combine)
    sums, inbox = cx.buffers[s.dst.buffer], cx.buffers[s.inbox.buffer]
    values = cx.layout(sums).values
    run = next(n for n in _RUNS if values % n == 0)
    zero = b.const(0, i32)

    def place(first: Expr) -> Expr:
        """Where a run of this thread's lies, which begins with its value `first`."""
        at = b.add(b.mul(first, cx.threads), b.mul(cx.thread, run))
        (flat,) = cx.place(inbox, (at,))
        return flat

    def send(first: Expr) -> Body:
        there = Region(inbox.name, (Range(place(first), b.const(run, i32)),))
        here = Region(sums.name, (Range(first, b.const(run, i32)),))
        return (CopyPeer(src=here, dst=there, peer=zero, onto=s.onto, index=zero, span=s.span),)

    def take(first: Expr) -> Body:
        out: list[Stmt] = []
        for k in range(run):
            mine = (b.add(first, k),)
            came = Load(inbox.name, (b.add(place(first), k),), inbox.dtype)
            total = b.add(Load(sums.name, mine, sums.dtype), came)
            out.append(put(sums, mine, total, s.span))
        return tuple(out)

    size = values * cx.threads * sums.dtype.storage_bits // 8
    expected = BarrierExpect(barrier=s.onto, index=zero, bytes=size, span=s.span)
    wait = BarrierWait(barrier=s.onto, index=zero, parity=zero, span=s.span)
    first = (*cx.once((expected,), s.span), wait, *_runs(cx, values, run, take, s))
    other = _runs(cx, values, run, send, s)
    branch = If(cond=b.eq(s.rank, 0), then=(), span=s.span)
    return (Nest(branch, (("then", (Piece(first),)), ("orelse", (Piece(other),)))),)


def _runs(cx: ThreadContext, values: int, run: int, body: Callable[[Expr], Body], s: Stmt) -> Body:
    """The body for the first value of each run."""
    var = cx.names.var("v")
    return (
        For(
            var=var,
            start=b.const(0, i32),
            stop=b.const(values, i32),
            step=b.const(run, i32),
            kind="unroll",
            body=body(var),
            span=s.span,
        ),
    )
