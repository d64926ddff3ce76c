"""How many bytes buffers take in this target's scratch memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tile_ir import build as b
from tile_ir.diag import InternalError
from tile_ir.expr import Const, Expr
from tile_ir.layout import TileLayout
from tile_ir.types import i64

if TYPE_CHECKING:
    from tile_ir.core import Buffer

__all__ = ["ALIGNMENT", "buffer_bytes", "element_count", "is_dynamic", "scratch_size"]

ALIGNMENT = 64
"""Every buffer starts on a cache line, which is also the widest vector."""


def element_count(buffer: Buffer) -> int:
    """The elements of a buffer of constant shape, padding of its layout included."""
    if buffer.layout is not None:
        return buffer.layout.cosize(buffer.dtype.storage_bits)
    count = 1
    for extent in buffer.shape:
        if not isinstance(extent, Const):
            raise InternalError("E9001", f"{buffer.name} has no constant shape")
        count *= int(extent.value)
    return count


def scratch_size(buffer: Buffer) -> int:
    """The bytes of a buffer, rounded up to whole lines."""
    bits = element_count(buffer) * buffer.dtype.storage_bits
    return -(-bits // (8 * ALIGNMENT)) * ALIGNMENT


def is_dynamic(buffer: Buffer) -> bool:
    """Whether the size is known at launch only: one slot for each trip of a loop."""
    return buffer.scope == "shared" and any(not isinstance(e, Const) for e in buffer.shape)


def buffer_bytes(buffer: Buffer) -> Expr:
    """The bytes of a buffer whose shape may be symbolic, rounded up to whole lines, as an i64
    expression.

    The elements of one slot of a dynamic buffer follow from its layout, where padding counts.
    """
    count: Expr = Const(1, i64)
    for extent in buffer.shape:
        count = b.mul(count, b.cast(extent, i64))
    if isinstance(buffer.layout, TileLayout):
        slot = buffer.layout.inputs[0].digits[-1].stride
        count = b.mul(b.cast(buffer.shape[0], i64), slot)
    bits = b.mul(count, buffer.dtype.storage_bits)
    return b.mul(b.ceildiv(bits, 8 * ALIGNMENT), ALIGNMENT)
