"""Layouts to pin with `T.annotate_layout`, made for a buffer of the kernel.

The compiler chooses layouts by itself; pins are for kernels that were written with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_frontend.language.annotations import Fragment, Layout
from tile_frontend.trace.buffers import BufferRef
from tile_ir.diag import TileError
from tile_ir.layout import TileLayout, default_axes, panels, row_major, swizzle_for

if TYPE_CHECKING:
    from tile_ir.layout import Layout as IRLayout

__all__ = ["Fragment", "Layout", "make_linear_layout", "make_swizzled_layout"]


def _extents(buffer: Any) -> tuple[int, ...]:
    if not isinstance(buffer, BufferRef) or buffer.scope() == "global":
        raise TileError(
            "E1414", f"{buffer!r} has no layout to choose", help="pass a buffer of T.alloc_shared"
        )
    return tuple(int(e) for e in buffer.shape)


def make_linear_layout(buffer: Any) -> IRLayout:
    """The row-major layout of a shared tile.

    Raises `TileError` E1414 for what is no on-chip buffer.
    """
    return row_major(_extents(buffer))


def make_swizzled_layout(buffer: Any, k_major: bool = True, allow_pad: bool = True) -> IRLayout:
    """The layout of a shared tile with the XOR that keeps its columns on different banks.

    Rows of 32, 64 or 128 bytes get the swizzle of that width; rows of several times 128 bytes are
    cut into columns of that width; others stay linear. `k_major` and `allow_pad` have no effect.

    Raises `TileError` E1414 for what is no on-chip buffer.
    """
    shape, bits = _extents(buffer), buffer.dtype.ir.storage_bits
    row_bytes = shape[-1] * bits // 8
    if len(shape) == 2 and row_bytes > _WIDEST and row_bytes % _WIDEST == 0:
        rows, columns = default_axes(2)
        width = _WIDEST * 8 // bits
        swizzle = swizzle_for(_WIDEST)
        return panels(
            (shape[0], shape[1]), (rows, columns), along=columns, width=width, swizzle=swizzle
        )
    plain = row_major(shape)
    return TileLayout(inputs=plain.inputs, swizzle=swizzle_for(row_bytes))


_WIDEST = 128
"""Bytes of the longest row that one swizzle spreads over all banks."""
