"""Tile atomics as element atomics, and clipped element accesses under their condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir import expr as ex
from tile_ir.core import Buffer
from tile_ir.expr import Expr, Load, Select
from tile_ir.ops import Alloc, Atomic, AtomicTile, If, Let, Store
from tile_ir.rewrite import replace
from tile_passes.lower.context import (
    ZERO,
    LowerContext,
    Window,
    element_value,
    indices,
    long_axes,
    parallel,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tile_ir.opdef import Body, Stmt
    from tile_passes.analysis.facts import Facts


def lower_atomic_tile(s: Stmt, cx: LowerContext) -> Body:
    """One atomic per element inside the destination."""
    assert isinstance(s, AtomicTile)
    src, dst = cx.buffers[s.src.buffer], cx.buffers[s.dst.buffer]
    from_axes, to_axes = long_axes(s.src), long_axes(s.dst)
    box = [Window(ZERO, s.dst.ranges[a].extent) for a in to_axes]
    if s.clip and dst.scope == "global":
        box = [window(s.dst.ranges[a], dst.shape[a], cx.facts) for a in to_axes]
    loop = cx.loop_vars(len(to_axes))
    shifted = [b.add(v, w.low) for v, w in zip(loop, box, strict=True)]
    at_src = indices(s.src, dict(zip(from_axes, shifted, strict=True)))
    at_dst = indices(s.dst, dict(zip(to_axes, shifted, strict=True)))
    one = Atomic(
        kind=s.kind,
        buffer=dst.name,
        indices=at_dst,
        value=element_value(b.load(src, at_src), dst),
        order=s.order,
        span=s.span,
    )
    return parallel(
        loop, [w.extent for w in box], _if_inside(one, at_dst, dst, cx, set(to_axes)), s.span
    )


def inside(at: Sequence[Expr], buffer: Buffer, cx: LowerContext, skip: set[int]) -> Expr | None:
    """The condition that an element of a global buffer exists, less what is proved; None when all
    is.
    """
    out: Expr | None = None
    if buffer.scope != "global":
        return None
    for axis, (index, extent) in enumerate(zip(at, buffer.shape, strict=True)):
        if axis in skip:
            continue
        for cond in (b.ge(index, 0), b.lt(index, extent)):
            if cx.facts.prove(cond) is not True:
                out = cond if out is None else b.land(out, cond)
    return out


def _if_inside(
    s: Atomic, at: Sequence[Expr], buffer: Buffer, cx: LowerContext, skip: set[int]
) -> Body:
    cond = inside(at, buffer, cx, skip)
    return (s,) if cond is None else (If(cond=cond, then=(s,), span=s.span),)


def lower_clipped_store(s: Stmt, cx: LowerContext) -> Body | None:
    """`if (inside) store`."""
    assert isinstance(s, Store)
    if not s.clip:
        return None
    plain = replace(s, clip=False)
    cond = inside(s.indices, cx.buffers[s.buffer], cx, set())
    if cond is None:
        return (plain,)
    # The value is needed inside only: guards of its own that follow from that are left out.
    known = cx.facts.assume(cond)
    value = ex.rewrite(s.value, lambda e: _taken(e, known), {})
    return (If(cond=cond, then=(replace(plain, value=value),), span=s.span),)


def _taken(e: Expr, known: Facts) -> Expr | None:
    if isinstance(e, Select) and known.prove(e.cond) is True:
        return e.t
    return None


def lower_clipped_atomic(s: Stmt, cx: LowerContext) -> Body | None:
    """`if (inside) atomic`; a result that is asked for is the safe value outside."""
    assert isinstance(s, Atomic)
    if not s.clip:
        return None
    plain = replace(s, clip=False)
    buffer = cx.buffers[s.buffer]
    if s.result is None:
        return _if_inside(plain, s.indices, buffer, cx, set())
    cond = inside(s.indices, buffer, cx, set())
    if cond is None:
        return (plain,)
    kind = s.result.dtype
    old = Buffer(name=cx.names.fresh(f"{s.result.name}_old"), dtype=kind, shape=(), scope="var")
    got = cx.names.var(s.result.name, kind)
    safe = b.cast(buffer.safe_value, kind) if buffer.safe_value else b.const(0, kind)
    taken = (
        replace(plain, result=got),
        Store(buffer=old.name, indices=(), value=got, span=s.span),
    )
    return (
        Alloc(buffer=old, span=s.span),
        Store(buffer=old.name, indices=(), value=safe, span=s.span),
        If(cond=cond, then=taken, span=s.span),
        Let(var=s.result, value=Load(old.name, (), kind), span=s.span),
    )
