"""Where an element of a buffer lies: one stride per axis, in elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.layout.tile import TileLayout
from tile_ir.types import i64

if TYPE_CHECKING:
    from tile_ir.core import Buffer


def element_strides(buffer: Buffer) -> tuple[Expr, ...]:
    """The stride of each axis as an i64 expression: explicit, from the layout, or row-major.

    Raises:
        InternalError: the layout is not one stride per axis; only packing and matrix atoms touch
            such buffers.
    """
    if buffer.strides is not None:
        return tuple(build.cast(s, i64) for s in buffer.strides)
    if buffer.layout is not None:
        return _layout_strides(buffer)
    out: list[Expr] = []
    step: Expr = Const(1, i64)
    for extent in reversed(buffer.shape):
        out.append(step)
        step = build.mul(step, build.cast(extent, i64))
    return tuple(reversed(out))


def _layout_strides(buffer: Buffer) -> tuple[Expr, ...]:
    layout = buffer.layout
    plain = isinstance(layout, TileLayout) and layout.swizzle is None
    axes = layout.inputs if isinstance(layout, TileLayout) else ()
    if not plain or len(axes) != buffer.rank or any(len(a.digits) > 1 for a in axes):
        raise InternalError("E9001", f"{buffer.name}: element access through `{layout}`")
    return tuple(Const(a.digits[0].stride if a.digits else 0, i64) for a in axes)
