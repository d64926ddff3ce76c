"""Copies and fills that a thread does by itself, as loops over their elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.expr import Const, Var
from tile_ir.ops import Copy, Fill, For, Store
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer, Region
    from tile_ir.expr import Expr
    from tile_ir.opdef import Stmt

__all__ = ["by_elements"]


def by_elements(s: Copy | Fill, buffers: Mapping[str, Buffer], fresh: Callable[[str], str]) -> Stmt:
    """The loops that do what a copy or fill does, in one thread."""
    long = _long_axes(s.dst)
    loop = [Var(fresh("e"), i32) for _ in long]
    target = buffers[s.dst.buffer]
    if isinstance(s, Fill):
        value = s.value
    else:
        others = _long_axes(s.src)
        source = buffers[s.src.buffer]
        value = b.load(source, _at(s.src, dict(zip(others, loop, strict=True))))
    stmt: Stmt = Store(
        buffer=target.name,
        indices=_at(s.dst, dict(zip(long, loop, strict=True))),
        value=b.cast(value, target.dtype),
        clip=s.clip and target.scope == "global",
        span=s.span,
    )
    for var, axis in zip(reversed(loop), reversed(long), strict=True):
        stop = b.cast(s.dst.ranges[axis].extent, i32)
        zero, one = b.const(0, i32), b.const(1, i32)
        stmt = For(var=var, start=zero, stop=stop, step=one, body=(stmt,), span=s.span)
    return stmt


def _long_axes(region: Region) -> list[int]:
    return [
        axis
        for axis, r in enumerate(region.ranges)
        if not (isinstance(r.extent, Const) and r.extent.value == 1)
    ]


def _at(region: Region, loop: Mapping[int, Expr]) -> tuple[Expr, ...]:
    return tuple(
        b.add(r.start, b.cast(loop[axis], r.start.dtype)) if axis in loop else r.start
        for axis, r in enumerate(region.ranges)
    )
