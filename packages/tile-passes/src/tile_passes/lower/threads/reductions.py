"""Reductions of registers: first within each thread, then across the lanes of a warp by exchange,
then across warps through shared memory.

Which threads have to meet is read off the layout's digits along the reduced axis. Every thread of a
line ends up with the result, so that what follows finds it in its own registers.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Call, Expr, Load, Var
from tile_ir.layout import Digit, FragmentLayout, places
from tile_ir.ops import For, Reduce
from tile_ir.types import i32
from tile_passes.lower.reductions import accumulator_type, combine, combine_lanes, identity
from tile_passes.lower.threads.addresses import ZERO, bits_of, digit
from tile_passes.lower.threads.context import declared, put
from tile_passes.lower.threads.moves import filled, move
from tile_passes.lower.threads.pieces import Items, Piece
from tile_passes.lower.threads.spread import ONE, box_axes, dealt, over_box, register, relabel

if TYPE_CHECKING:
    from tile_ir.core import Buffer
    from tile_ir.opdef import Body, Stmt
    from tile_passes.lower.threads.context import ThreadContext
    from tile_passes.lower.threads.spread import Loop, Spread

__all__ = ["lower_reduce"]

MIN_LOOPS, MIN_LENGTH, MAX_WAYS = 2, 8, 4
"""Lines worth several accumulators: two digits, of which the first is small, and this long."""
MANY_WARPS = 16
"""Warps of a line from which on exchanges between lanes take less time than so many reads."""
_PLAIN = {"absmax": "max", "abssum": "sum"}


def lower_reduce(s: Stmt, cx: ThreadContext) -> Items:
    """A reduction; operands in memory go through registers."""
    assert isinstance(s, Reduce)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    if src.scope != "fragment":
        return _source_in_memory(s, src, cx)
    axis = f"d{s.dim % len(s.src.ranges)}"
    held = over_box(cx.layout(src), cx.threads)
    assert held is not None  # it fits the block already
    kept = relabel(held, {n: n for n in held.outputs if n != axis}, held.outputs)
    acc_type = accumulator_type(s.kind, src.dtype, dst.dtype)
    shape = [int(r.extent.value) for r in s.src.ranges]  # type: ignore[attr-defined]  # tiles are static
    shape[s.dim] = 1
    acc, alloc = cx.fragment("acc", acc_type, shape, kept)
    own = _within_thread(s, src, acc, held, cx)
    items: list[Piece] = [Piece((alloc, *own))]
    if s.parts:
        return (*items, _parts(s, acc, dst, cx))
    items += _across_threads(s, acc, held, axis, cx)
    return (*items, *_result(s, acc, dst, cx))


def _parts(s: Reduce, acc: Buffer, dst: Buffer, cx: ThreadContext) -> Piece:
    """dst = acc, or dst = dst op acc: each thread has just its own part of both."""
    values = cx.layout(acc).values
    if dst.scope != "fragment" or cx.layout(dst).values != values:
        raise InternalError("E9001", f"{dst.name} does not hold the parts of threads", span=s.span)
    at = cx.names.var("v")
    total: Expr = Load(acc.name, (at,), acc.dtype)
    if not s.clear:
        total = combine(s.kind, b.cast(Load(dst.name, (at,), dst.dtype), acc.dtype), total, s.nan)
    step = put(dst, (at,), b.cast(total, dst.dtype), s.span)
    return Piece((_over_registers(at, values, (step,), s),))


def _source_in_memory(s: Reduce, src: Buffer, cx: ThreadContext) -> Items:
    extents = [int(r.extent.value) for r in s.src.ranges]  # type: ignore[attr-defined]  # tiles are static
    layout = dealt(extents, cx.threads)
    held, alloc = cx.fragment(f"{src.name}_r", src.dtype, extents, layout)
    inner = Reduce(
        kind=s.kind,
        src=b.whole(held),
        dst=s.dst,
        dim=s.dim,
        clear=s.clear,
        nan=s.nan,
        span=s.span,
    )
    full = b.whole(held)
    return (
        declared(alloc),
        *move(s.src, full, cx, span=s.span),
        *lower_reduce(inner, cx),
    )


def _within_thread(
    s: Reduce, src: Buffer, acc: Buffer, held: FragmentLayout, cx: ThreadContext
) -> Body:
    extents = [int(r.extent.value) for r in s.src.ranges]  # type: ignore[attr-defined]  # tiles are static
    over = cx.spread(held, extents)
    dim = s.dim % len(extents)
    rank = len(extents)
    item_at = register(cx.layout(src), over, tuple(range(rank)))
    acc_at = register(cx.layout(acc), over, tuple(None if a == dim else a for a in range(rank)))
    assert item_at is not None
    assert acc_at is not None  # both layouts come from the one that deals the box
    item = b.cast(Load(src.name, (item_at,), src.dtype), acc.dtype)
    chain = _chain(s, acc, over, f"d{dim}", cx)
    if chain is None:
        body = over.nest(_combined(s, acc, acc_at, item), s.span)
        return (*filled(acc, identity(s.kind, acc.dtype), cx, s.span), *body)
    ways = chain.digit.extent
    layout = cx.layout(acc)
    digits = (Digit(ways, f"d{dim}", 1), *layout.value)
    shape = [ways if a == dim else int(n.value) for a, n in enumerate(acc.shape)]  # type: ignore[attr-defined]  # tiles are static
    apart = FragmentLayout(thread=layout.thread, value=digits, outputs=layout.outputs)
    several, alloc = cx.fragment(f"{acc.name}s", acc.dtype, shape, apart)
    at = b.add(b.mul(acc_at, ways), chain.var)
    starts = _first_of(over, f"d{dim}", chain)
    each = over.nest(_combined(s, several, at, item, starts), s.span)
    return (alloc, *each, *_joined(s, several, acc, ways, cx))


def _chain(s: Reduce, acc: Buffer, over: Spread, axis: str, cx: ThreadContext) -> Loop | None:
    """The loop of which every step gets an accumulator of its own: each operation waits for the one
    before it, so that one accumulator for each result leaves a processor idle. None where the order
    of a sum counts, where a line may start with a NaN that loses, or where lines are short."""
    mine = [x for x in over.loops if x.digit.axis == axis and isinstance(x.var, Var)]
    length = prod(x.digit.extent for x in mine)
    ordered = cx.strict and s.kind in ("sum", "abssum") and acc.dtype.is_float
    short = len(mine) < MIN_LOOPS or length < MIN_LENGTH
    if ordered or s.nan == "ignore" or over.inside is not None or short:
        return None
    return mine[0] if mine[0].digit.extent <= MAX_WAYS else None


def _first_of(over: Spread, axis: str, chain: Loop) -> Expr:
    """Whether an iteration is the first that comes to its accumulator."""
    rest = [x.var for x in over.loops if x.digit.axis == axis and x is not chain]
    cond: Expr = b.const(True)
    for var in rest:
        cond = b.land(cond, b.eq(var, 0))
    return cond


def _combined(s: Reduce, acc: Buffer, at: Expr, item: Expr, starts: Expr | None = None) -> Body:
    """acc = acc op item, where `starts` holds acc = item: a constant once loops are unrolled."""
    value = combine(s.kind, Load(acc.name, (at,), acc.dtype), item, s.nan)
    if starts is not None:
        value = b.select(starts, _magnitude(s.kind, item), value)
    return (put(acc, (at,), value, s.span),)


def _magnitude(kind: str, item: Expr) -> Expr:
    return b.abs_(item) if kind in _PLAIN and item.dtype.is_signed else item


def _joined(s: Reduce, several: Buffer, acc: Buffer, ways: int, cx: ThreadContext) -> Body:
    """Each result from its accumulators; `ways` of them lie side by side."""
    at = cx.names.var("v")
    parts = (b.add(b.mul(at, ways), way) for way in range(ways))
    value: Expr | None = None
    for part in parts:
        item = Load(several.name, (part,), acc.dtype)
        # Values are absolute already, and joining them is the same as combining.
        value = item if value is None else combine(_PLAIN.get(s.kind, s.kind), value, item, s.nan)
    assert value is not None  # there are at least two ways
    return (_over_registers(at, cx.layout(acc).values, (put(acc, (at,), value, s.span),), s),)


def _across_threads(
    s: Reduce, acc: Buffer, held: FragmentLayout, axis: str, cx: ThreadContext
) -> list[Piece]:
    """Combine the partial results of threads that differ in digits along the axis."""
    near: list[tuple[int, int]] = []
    far: list[tuple[int, int]] = []
    for place, d in zip(places(held.thread), held.thread, strict=True):
        if d.axis != axis:
            continue
        for part_place, extent in _at_warp(place, d.extent, cx.target.warp_width):
            (near if _by_exchange(part_place, extent, cx) else far).append((part_place, extent))
    out: list[Piece] = []
    values = cx.layout(acc).values
    if near:
        masks = [place << step for place, extent in near for step in range(extent.bit_length() - 1)]
        out.append(Piece(tuple(_exchange(s, acc, mask, values, cx) for mask in masks)))
    if far:
        alike = prod(extent for _, extent in near) == cx.target.warp_width
        out += _through_shared(s, acc, far, values, cx, alike)
    return out


def _at_warp(place: int, extent: int, width: int) -> list[tuple[int, int]]:
    """A digit of threads cut where one warp ends, if it is there that it can be cut: (place,
    extent)."""
    inside = width // place if place < width and width % place == 0 else 1
    if inside > 1 and extent > inside and extent % inside == 0:
        return [(place, inside), (width, extent // inside)]
    return [(place, extent)] if extent > 1 else []


def _by_exchange(place: int, extent: int, cx: ThreadContext) -> bool:
    powers = bits_of(place) is not None and bits_of(extent) is not None
    return cx.target.has("shuffle") and powers and place * extent <= cx.target.warp_width


def _exchange(s: Reduce, acc: Buffer, mask: int, values: int, cx: ThreadContext) -> For:
    """acc[v] = acc[v] op (acc[v] of the lane across `mask`)."""
    at = cx.names.var("v")
    mine = Load(acc.name, (at,), acc.dtype)
    other = Call("shuffle_xor", (mine, b.const(mask, i32)), acc.dtype)
    step = put(acc, (at,), combine_lanes(s.kind, mine, other, s.nan), s.span)
    return _over_registers(at, values, (step,), s)


def _over_registers(at: Expr, values: int, body: Body, s: Reduce) -> For:
    count = b.const(values, i32)
    return For(var=at, start=ZERO, stop=count, step=ONE, kind="unroll", body=body, span=s.span)  # type: ignore[arg-type]  # a fresh variable


def _through_shared(
    s: Reduce,
    acc: Buffer,
    digits: list[tuple[int, int]],
    values: int,
    cx: ThreadContext,
    alike: bool,
) -> list[Piece]:
    """Every thread leaves its partial results in shared memory and collects those of its line.

    Where the lanes of a warp are `alike` and a line has many warps, each lane reads what one warp
    left, and the lanes exchange the rest: every thread would else read as often as there are warps.
    """
    stage, alloc = cx.shared("partial", acc.dtype, (values, cx.threads))
    at = cx.names.var("v")
    mine = cx.place(stage, (at, cx.thread))
    leave = put(stage, mine, Load(acc.name, (at,), acc.dtype), s.span)
    give = _over_registers(at, values, (leave,), s)

    many = [(place, extent) for place, extent in digits if extent >= MANY_WARPS]
    if alike and digits == many and len(many) == 1 and _by_exchange(1, many[0][1], cx):
        return [declared(alloc), Piece((give,)), _one_each(s, acc, stage, *many[0], values, cx)]

    at = cx.names.var("v")
    base: Expr = cx.thread
    loops = []
    for place, extent in digits:
        # The slowest digit needs no modulus only if it reaches the last thread; keep it in general.
        base = b.sub(base, b.mul(digit(cx.thread, place, extent), place))
        loops.append((cx.names.var("q"), place, extent))
    who = base
    for q, place, _ in loops:
        who = b.add(who, b.mul(q, place))
    theirs = cx.load(stage, (at, who))
    value = combine(s.kind, Load(acc.name, (at,), acc.dtype), theirs, s.nan)
    body: Body = (put(acc, (at,), value, s.span),)
    for q, _, extent in loops:
        body = (
            For(var=q, start=ZERO, stop=b.const(extent, i32), step=ONE, body=body, span=s.span),
        )
    empty = put(acc, (at,), identity(s.kind, acc.dtype), s.span)
    take = _over_registers(at, values, (empty, *body), s)
    return [declared(alloc), Piece((give,)), Piece((take,))]


def _one_each(
    s: Reduce,
    acc: Buffer,
    stage: Buffer,
    place: int,
    extent: int,
    values: int,
    cx: ThreadContext,
) -> Piece:
    """acc = what each lane reads of one of the `extent` warps, combined across the lanes."""
    at = cx.names.var("v")
    mine = b.mul(digit(cx.thread, place, extent), place)
    theirs = b.mul(digit(cx.thread, 1, extent), place)
    who = b.add(b.sub(cx.thread, mine), theirs)
    read = put(acc, (at,), cx.load(stage, (at, who)), s.span)
    masks = (1 << step for step in range(extent.bit_length() - 1))
    exchanges = (_exchange(s, acc, mask, values, cx) for mask in masks)
    return Piece((_over_registers(at, values, (read,), s), *exchanges))


def _result(s: Reduce, acc: Buffer, dst: Buffer, cx: ThreadContext) -> Items:
    """dst = acc, or dst = dst op acc, where dst lies."""
    rank = len(s.src.ranges)
    dim = s.dim % rank
    kept = [a for a in range(rank) if a != dim]
    keeps = len(s.dst.ranges) == rank
    shape = [int(r.extent.value) for r in s.dst.ranges]  # type: ignore[attr-defined]  # tiles are static
    axes: tuple[int | None, ...]
    if keeps:
        axes = tuple(None if a == dim else a for a in range(rank))
    elif len(s.dst.ranges) == len(kept):
        axes = tuple(kept)
    else:  # a single value into unit axes
        axes = (None,) * len(s.dst.ranges)
    held = cx.layout(acc)
    extents = [int(e.value) for e in acc.shape]  # type: ignore[attr-defined]  # tiles are static
    over = cx.spread(held, extents)
    from_acc = register(held, over, tuple(range(rank)))
    assert from_acc is not None  # its own layout
    before: Items = ()
    after: Items = ()
    target, alloc = dst, None
    at = register(cx.layout(dst), over, axes) if dst.scope == "fragment" else None
    if at is None:
        names: dict[str, str | None] = {
            f"d{a}": f"d{i}" for i, a in enumerate(axes) if a is not None
        }
        layout = relabel(held, names, box_axes(len(axes)))
        target, alloc = cx.fragment(f"{dst.name}_r", dst.dtype, shape, layout)
        at = register(layout, over, axes)
        assert at is not None  # made for it
        before = (declared(alloc),)
        if not s.clear:
            before += move(s.dst, b.whole(target), cx, span=s.span)
        after = move(b.whole(target), s.dst, cx, span=s.span)
    total: Expr = Load(acc.name, (from_acc,), acc.dtype)
    if not s.clear:
        old = b.cast(Load(target.name, (at,), target.dtype), acc.dtype)
        total = combine(s.kind, old, total, s.nan)
    body = over.nest((put(target, (at,), b.cast(total, target.dtype), s.span),), s.span)
    return (*before, Piece(body), *after)
