"""Sums over the blocks of a cluster: every thread sends what it has to its like in the first block.

Fragments lie alike in all blocks, so that no element has to be found: the words of each thread lie
behind each other in runs that one store carries, runs of neighbouring threads beside each other.
Where threads hold copies, or hold less than they could, elements go one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Load
from tile_ir.ops import BarrierExpect, BarrierWait, Combine, CopyPeer, For, If
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import static_shape
from tile_passes.lower.threads.context import guarded, put
from tile_passes.lower.threads.pieces import Items, Nest, Piece
from tile_passes.lower.threads.spread import dealt, over_box, register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tile_ir.expr import Expr
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext

__all__ = ["lower_combine"]

_RUNS = (4, 2, 1)
"""Words that one thread brings to another block at once."""


def lower_combine(s: Stmt, cx: ThreadContext) -> Items:
    """The other block sends; the first one waits for as many bytes and adds."""
    assert isinstance(s, Combine)
    sums = cx.buffers[s.dst.buffer]
    zero = b.const(0, i32)
    share = _in_memory(s, cx) or _by_threads(s, cx) or _by_elements(s, cx)
    size = prod(static_shape(sums)) * sums.dtype.storage_bits // 8
    expected = BarrierExpect(barrier=s.onto, index=zero, bytes=size, span=s.span)
    wait = BarrierWait(barrier=s.onto, index=zero, parity=zero, span=s.span)
    first = (*cx.once((expected,), s.span), wait, *share.taken)
    branch = If(cond=b.eq(s.rank, 0), then=(), span=s.span)
    bodies = (("then", (Piece(first),)), ("orelse", (Piece(share.sent),)))
    return (Nest(branch, bodies),)


@dataclass(frozen=True, slots=True)
class _Share:
    """What a thread of another block sends, and what its like in the first block takes."""

    sent: Body
    taken: Body


def _in_memory(s: Combine, cx: ThreadContext) -> _Share | None:
    """Sums that no layout put into registers: every thread has a share of the elements."""
    sums, inbox = cx.buffers[s.dst.buffer], cx.buffers[s.inbox.buffer]
    if sums.scope == "fragment":
        return None
    shape = static_shape(sums)
    over = cx.spread(dealt(shape, cx.threads, 1), shape)
    (mine,), (place,) = cx.place(sums, over.at), cx.place(inbox, (_number(over.at, shape),))
    steps = (_sent(s, mine, place, 1), _added(s, cx, mine, place))
    sent, taken = (over.nest(guarded((x,), over.first, span=s.span), s.span) for x in steps)
    return _Share(sent, taken)


def _number(at: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The number of an element, rows in order."""
    number: Expr = b.const(0, i32)
    for index, extent in zip(at, shape, strict=True):
        number = b.add(b.mul(number, extent), index)
    return number


def _by_threads(s: Combine, cx: ThreadContext) -> _Share | None:
    """Runs of a thread's own values behind each other; None where threads hold copies, or the
    layout covers more than the fragment."""
    sums, inbox = cx.buffers[s.dst.buffer], cx.buffers[s.inbox.buffer]
    values = cx.layout(sums).values
    if values * cx.threads != prod(static_shape(sums)):
        return None
    run = next(n for n in _RUNS if values % n == 0)

    def place(first: Expr) -> Expr:
        (flat,) = cx.place(inbox, (b.add(b.mul(first, cx.threads), b.mul(cx.thread, run)),))
        return flat

    def send(first: Expr) -> Body:
        return (_sent(s, first, place(first), run),)

    def take(first: Expr) -> Body:
        pairs = ((b.add(first, k), b.add(place(first), k)) for k in range(run))
        return tuple(_added(s, cx, mine, came) for mine, came in pairs)

    return _Share(_runs(cx, values, run, send, s), _runs(cx, values, run, take, s))


def _by_elements(s: Combine, cx: ThreadContext) -> _Share:
    """Each element by itself, sent by one of its holders and taken by all."""
    sums, inbox = cx.buffers[s.dst.buffer], cx.buffers[s.inbox.buffer]
    shape = static_shape(sums)
    layout = over_box(cx.layout(sums), cx.threads)
    assert layout is not None  # it is that of the threads
    over = cx.spread(layout, shape)
    (place,) = cx.place(inbox, (_number(over.at, shape),))
    mine = register(cx.layout(sums), over, range(len(shape)))
    assert mine is not None  # the iterations are those of the fragment's own layout
    sent = guarded((_sent(s, mine, place, 1),), over.first, span=s.span)
    return _Share(over.nest(sent, s.span), over.nest((_added(s, cx, mine, place),), s.span))


def _sent(s: Combine, first: Expr, place: Expr, run: int) -> Stmt:
    """A run of this thread's values on its way to a place of the first block's inbox."""
    here, there = (
        Region(name, (Range(at, b.const(run, i32)),))
        for name, at in ((s.dst.buffer, first), (s.inbox.buffer, place))
    )
    zero = b.const(0, i32)
    return CopyPeer(src=here, dst=there, peer=zero, onto=s.onto, index=zero, span=s.span)


def _added(s: Combine, cx: ThreadContext, mine: Expr, place: Expr) -> Stmt:
    """What came to a place, added to a value of this thread's."""
    sums, inbox = cx.buffers[s.dst.buffer], cx.buffers[s.inbox.buffer]
    came = Load(inbox.name, (place,), inbox.dtype)
    return put(sums, (mine,), b.add(Load(sums.name, (mine,), sums.dtype), came), s.span)


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
