"""Copies: a box moved between global memory, shared memory and registers.

Who moves which element follows from the side in registers; without one, neighbours along the last
axis go to neighbouring threads. Each access takes as many elements as both sides hold in a row at a
proved alignment, up to the widest access of the target; elements outside a buffer are decided for a
whole access at once, which the same proof allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Expr, Load
from tile_ir.ops import Convert, Copy, Fill, For, Pin
from tile_ir.rewrite import replace
from tile_ir.types import i32
from tile_passes.lower.context import long_axes
from tile_passes.lower.threads.addresses import ZERO, bits_of
from tile_passes.lower.threads.alignment import run_in_memory
from tile_passes.lower.threads.context import declared, guarded, put
from tile_passes.lower.threads.matrix_loads import (
    can_store_matrices,
    load_matrices,
    store_matrices,
)
from tile_passes.lower.threads.owners import Owner, owner
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.spread import ONE, box_axes, dealt, register, relabel, replicated
from tile_passes.lower.threads.turned_moves import turned_move

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.diag import Span
    from tile_ir.layout import FragmentLayout
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext
    from tile_passes.lower.threads.spread import Spread

_REGISTER_BITS = 32
_ANY_RUN = 1 << 10
"""Elements of the longest access on the side of registers: memory bounds it."""

__all__ = ["lower_convert", "lower_copy", "lower_fill", "move"]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a move: the region and which of its axes are those of the box, in order."""

    buffer: Buffer
    region: Region
    axes: tuple[int, ...]
    clip: bool

    @property
    def in_registers(self) -> bool:
        """Whether the elements are values of threads."""
        return self.buffer.scope == "fragment"

    @property
    def is_private(self) -> bool:
        """Whether every thread has a copy of all elements."""
        return self.buffer.scope == "local"

    def box_axes(self) -> tuple[int | None, ...]:
        """For each axis of the buffer the axis of the box."""
        order = {axis: i for i, axis in enumerate(self.axes)}
        return tuple(order.get(axis) for axis in range(len(self.region.ranges)))

    def indices(self, over: Spread) -> tuple[Expr, ...]:
        """The coordinates in the buffer."""
        order = self.box_axes()
        return tuple(
            r.start if i is None else b.add(r.start, over.at[i])
            for r, i in zip(self.region.ranges, order, strict=True)
        )

    def inside(self, over: Spread, cx: ThreadContext) -> Expr | None:
        """The condition that the element exists, less what is proved; None when all is."""
        if not self.clip or self.buffer.scope != "global":
            return None
        out: Expr | None = None
        at = self.indices(over)
        for r, index, extent in zip(self.region.ranges, at, self.buffer.shape, strict=True):
            for cond, proof in (
                (b.ge(index, 0), b.ge(r.start, 0)),
                (b.lt(index, extent), b.le(b.add(r.start, r.extent), extent)),
            ):
                if cx.facts.prove(proof) is not True:
                    out = cond if out is None else b.land(out, cond)
        return out


def lower_copy(s: Stmt, cx: ThreadContext) -> Items:
    """The move of a copy."""
    assert isinstance(s, Copy)
    return move(s.src, s.dst, cx, clip=s.clip, width=s.width, span=s.span)


def lower_convert(s: Stmt, cx: ThreadContext) -> Items:
    """A change of layout is a move between registers."""
    assert isinstance(s, Convert)
    return move(s.src, s.dst, cx, span=s.span)


def move(
    src: Region,
    dst: Region,
    cx: ThreadContext,
    *,
    clip: bool = False,
    width: int = 0,
    span: Span | None = None,
) -> Items:
    """Copy a box, converting; through shared memory where both sides are registers of different
    threads. `width` bounds the elements of an access (0: free)."""
    a = Side(cx.buffers[src.buffer], src, long_axes(src), clip)
    c = Side(cx.buffers[dst.buffer], dst, long_axes(dst), clip)
    extents = [int(dst.ranges[i].extent.value) for i in c.axes]  # type: ignore[attr-defined]  # tiles are static
    layout, vector = _dealing(a, c, extents, cx, width)
    together = load_matrices(a, c, layout, extents, cx, span)
    together = together or store_matrices(a, c, layout, extents, cx, span)
    if together is not None:
        return (together,)
    if a.in_registers and c.is_private:
        return _through_shared(a, c, extents, cx, span)
    turned = turned_move(a, c, extents, cx, span)
    if turned is not None:
        return turned
    if a.buffer.dtype is not c.buffer.dtype and can_store_matrices(a, c, cx):
        return _converted_first(a, c, layout, extents, cx, span)
    over = cx.spread(layout, extents, vector)
    if a.in_registers and c.in_registers and _register(a, over, cx) is None:
        return _through_shared(a, c, extents, cx, span)
    owned = []
    repeated = over.first is not None and (c.in_registers or c.is_private)
    for side in (a, c):
        # Copies of a register are all read for; memory is written, and read for it, by one of them.
        found = None if repeated else _owner(side, over, extents, cx)
        if found is not None and a.buffer is not c.buffer:
            owned.append((side.buffer.name, found))
    return (Piece(_moved(a, c, over, vector, cx, span), tuple(owned)),)


def _converted_first(
    a: Side,
    c: Side,
    layout: FragmentLayout,
    extents: list[int],
    cx: ThreadContext,
    span: Span | None,
) -> Items:
    """Registers to registers of the type in memory, then there."""
    held, alloc = cx.fragment(f"{a.buffer.name}_out", c.buffer.dtype, extents, layout)
    full = b.whole(held)
    before = move(a.region, full, cx, span=span)
    return (declared(alloc), *before, *move(full, c.region, cx, span=span))


def _owner(side: Side, over: Spread, extents: list[int], cx: ThreadContext) -> Owner | None:
    starts = [r.start for r in side.region.ranges]
    places = zip(side.box_axes(), starts, strict=True)
    return owner(over.layout, extents, places, cx.fixed)


def _through_shared(
    a: Side, c: Side, extents: list[int], cx: ThreadContext, span: Span | None
) -> Items:
    stage, alloc = cx.shared(f"{a.buffer.name}_st", c.buffer.dtype, extents)
    full = b.whole(stage)
    return (
        declared(alloc),
        *move(a.region, full, cx, span=span),
        *move(full, c.region, cx, span=span),
    )


def _own(side: Side, cx: ThreadContext) -> FragmentLayout:
    """The layout of a side in registers over the axes of the box."""
    held = cx.layout(side.buffer)
    order = side.box_axes()
    names = {
        name: None if i is None else f"d{i}" for name, i in zip(held.outputs, order, strict=True)
    }
    return relabel(held, names, box_axes(len(side.axes)))


def _dealing(
    a: Side, c: Side, extents: list[int], cx: ThreadContext, width: int
) -> tuple[FragmentLayout, int]:
    """Who moves which element, and how many at once."""
    widest = min(_longest(side, cx) for side in (a, c)) if extents else 1
    if width:
        widest = min(widest, 1 << (width.bit_length() - 1))
    while widest > 1 and extents[-1] % widest:
        widest //= 2
    if c.is_private:
        return replicated(extents, cx.threads), widest
    if not (a.in_registers or c.in_registers):
        return dealt(extents, cx.threads, widest), widest
    layout = _own(c if c.in_registers else a, cx)
    if a.in_registers and c.in_registers:
        return layout, _register_pair(layout, a, c, cx)
    return layout, _register_run(layout, len(extents), widest)


def _register_pair(layout: FragmentLayout, a: Side, c: Side, cx: ThreadContext) -> int:
    """How many neighbouring registers move at once between fragments that lie alike: elements
    narrower than a register share one only where they are written together, and only where the
    target has accesses of a register at all."""
    bits = min(a.buffer.dtype.storage_bits, c.buffer.dtype.storage_bits)
    wide = 8 * max(cx.target.access_bytes, default=0) >= _REGISTER_BITS
    lanes = _REGISTER_BITS // bits if wide and bits in (8, 16) else 1
    alike = _own(a, cx) == layout and bool(layout.value) and layout.value[0].extent % lanes == 0
    return lanes if alike else 1


def _register_run(layout: FragmentLayout, rank: int, widest: int) -> int:
    """How many registers in a row are consecutive along the last axis, at most `widest`."""
    first = layout.value[0] if layout.value else None
    if first is None or first.axis != f"d{rank - 1}" or first.stride != 1:
        return 1
    while widest > 1 and first.extent % widest:
        widest //= 2
    return widest


def _longest(side: Side, cx: ThreadContext) -> int:
    """The longest aligned run along the box's last axis, in elements; a power of two."""
    bits = side.buffer.dtype.storage_bits
    top = max((8 * n // bits for n in cx.target.access_bytes if 8 * n >= bits), default=1)
    if bits_of(top) is None:  # elements of 3 or 6 bits share no access evenly
        return 1
    if side.in_registers:
        return _ANY_RUN
    return run_in_memory(side.buffer, side.region, side.axes[-1], top, cx, clip=side.clip)


def _register(side: Side, over: Spread, cx: ThreadContext) -> Expr | None:
    return register(cx.layout(side.buffer), over, side.box_axes())


def _place(side: Side, over: Spread, cx: ThreadContext) -> tuple[Expr, ...]:
    """The indices of the iteration's element in one thread's program."""
    if not side.in_registers:
        return cx.place(side.buffer, side.indices(over))
    found = _register(side, over, cx)
    assert found is not None  # the spread is that of this side, or was checked
    return (found,)


def _moved(
    a: Side, c: Side, over: Spread, vector: int, cx: ThreadContext, span: Span | None
) -> Body:
    read, written = a.inside(over, cx), c.inside(over, cx)
    source, target = _place(a, over, cx), _place(c, over, cx)
    fetched: Expr = _access(a.buffer, source, vector)
    if read is not None:
        fetched = b.select(read, fetched, b.cast(_safe(a.buffer), fetched.dtype))
    if a.buffer.dtype is c.buffer.dtype or vector == 1:
        value = b.cast(fetched, c.buffer.dtype.with_lanes(vector))
        body: Body = (put(c.buffer, _lanes(target, vector), value, span),)
    else:
        body = _converted(a, c, source, target, fetched, vector, cx, span)
    copies = None if c.in_registers or c.is_private else over.first
    return over.nest(guarded(body, written, copies, span=span), span)


def _converted(
    a: Side,
    c: Side,
    source: tuple[Expr, ...],
    target: tuple[Expr, ...],
    fetched: Expr,
    vector: int,
    cx: ThreadContext,
    span: Span | None,
) -> Body:
    """Vector accesses to memory with element conversions in registers between them."""
    lane = cx.names.var("v")
    before: list[Stmt] = []
    after: list[Stmt] = []
    if a.in_registers:
        item: Expr = Load(a.buffer.name, (b.add(source[0], lane),), a.buffer.dtype)
    else:
        got, alloc = cx.array("got", a.buffer.dtype, vector)
        before += [alloc, put(got, _lanes((ZERO,), vector), fetched, span)]
        item = Load(got.name, (lane,), got.dtype)
    value = b.cast(item, c.buffer.dtype)
    if c.in_registers:
        step = put(c.buffer, (b.add(target[0], lane),), value, span)
    else:
        out, alloc = cx.array("out", c.buffer.dtype, vector)
        before.append(alloc)
        step = put(out, (lane,), value, span)
        after.append(put(c.buffer, _lanes(target, vector), _access(out, (ZERO,), vector), span))
    count = b.const(vector, i32)
    loop = For(var=lane, start=ZERO, stop=count, step=ONE, kind="unroll", body=(step,), span=span)
    return (*before, loop, *after)


def _safe(buffer: Buffer) -> Expr:
    return b.const(0, buffer.dtype) if buffer.safe_value is None else buffer.safe_value


def _lanes(at: tuple[Expr, ...], lanes: int) -> tuple[Expr, ...]:
    return at if lanes == 1 else (*at[:-1], b.ramp(at[-1], 1, lanes))


def _access(buffer: Buffer, at: tuple[Expr, ...], lanes: int) -> Expr:
    return Load(buffer.name, _lanes(at, lanes), buffer.dtype.with_lanes(lanes))


def lower_fill(s: Stmt, cx: ThreadContext) -> Items:
    """Every element set by the thread that has it."""
    assert isinstance(s, Fill)
    buffer = cx.buffers[s.dst.buffer]
    side = Side(buffer, s.dst, long_axes(s.dst), s.clip)
    extents = [int(s.dst.ranges[i].extent.value) for i in side.axes]  # type: ignore[attr-defined]  # tiles are static
    if side.in_registers:
        return (Piece(filled(buffer, s.value, cx, s.span)),)
    vector = _longest(side, cx) if extents else 1
    while vector > 1 and extents[-1] % vector:
        vector //= 2
    full = side.is_private
    layout = replicated(extents, cx.threads) if full else dealt(extents, cx.threads, vector)
    over = cx.spread(layout, extents, vector)
    value = b.cast(s.value, buffer.dtype.with_lanes(vector))
    one = put(buffer, _lanes(_place(side, over, cx), vector), value, s.span)
    copies = None if full else over.first
    body = guarded((one,), side.inside(over, cx), copies, span=s.span)
    found = _owner(side, over, extents, cx)
    owned = () if found is None else ((buffer.name, found),)
    return (Piece(over.nest(body, s.span), owned),)


def lower_pin(s: Stmt, cx: ThreadContext) -> Items:
    """All registers that a thread has of the fragment."""
    assert isinstance(s, Pin)
    count = b.const(cx.layout(cx.buffers[s.value.buffer]).values, i32)
    return (Piece((replace(s, value=Region(s.value.buffer, (Range(ZERO, count),))),)),)


def filled(fragment: Buffer, value: Expr, cx: ThreadContext, span: Span | None) -> Body:
    """Every register of a fragment set, whatever element it holds."""
    at = cx.names.var("v")
    count = b.const(cx.layout(fragment).values, i32)
    step = (put(fragment, (at,), value, span),)
    return (For(var=at, start=ZERO, stop=count, step=ONE, kind="unroll", body=step, span=span),)
