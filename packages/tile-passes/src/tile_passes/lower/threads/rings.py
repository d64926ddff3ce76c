"""Slots of channels as an ordinary axis: a buffer with slots gets them as its first one, and an
access to a slot the coordinate at which the end of the channel stands."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir import build as b
from tile_ir.core import Range, Region
from tile_ir.expr import Expr, Load, Slot, rewrite
from tile_ir.layout import Axis, Digit, TileLayout
from tile_ir.opdef import opdef
from tile_ir.ops import Store
from tile_ir.rewrite import replace
from tile_ir.types import i32
from tile_passes.lower.threads.addresses import static_shape, tile_layout
from tile_passes.lower.threads.spread import ONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tile_ir.core import Buffer
    from tile_ir.opdef import Stmt

__all__ = ["at_slots", "with_slot_axis"]


def with_slot_axis(buffer: Buffer) -> Buffer:
    """The buffer with its slots as first axis, one whole tile apart."""
    layout = tile_layout(buffer)
    size = layout.pitch(buffer.dtype.storage_bits)
    (out,) = layout.output_names
    digits = [a.digits for a in layout.inputs]
    axes = [(Digit(buffer.slots, out, size),), *digits]
    inputs = tuple(Axis(f"d{i}", tuple(d)) for i, d in enumerate(axes))
    shape = (buffer.slots, *static_shape(buffer))
    return dataclasses.replace(
        buffer,
        shape=tuple(b.const(n, i32) for n in shape),
        layout=TileLayout(inputs=inputs, swizzle=layout.swizzle),
        slots=1,
    )


def at_slots(stmt: Stmt, rings: Mapping[str, Buffer], slot: Callable[[Slot], Expr]) -> Stmt:
    """The statement itself (not its bodies) with every access to a ring at its coordinate.

    `slot` gives the coordinate of a slot; an access to a ring without one means the only slot.
    """
    memo: dict[Expr, Expr] = {}

    def where(found: Slot | None) -> Expr:
        return b.const(0, i32) if found is None else slot(found)

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer in rings and len(e.indices) < rings[e.buffer].rank:
            return Load(e.buffer, (where(e.slot), *e.indices), e.dtype)
        return None

    def operand(value: Any) -> Any:
        if isinstance(value, Expr):
            return rewrite(value, load, memo)
        if isinstance(value, Region):
            ranges = tuple(Range(operand(r.start), operand(r.extent)) for r in value.ranges)
            if value.buffer in rings:
                return Region(value.buffer, (Range(where(value.slot), ONE), *ranges))
            return value if ranges == value.ranges else Region(value.buffer, ranges, value.slot)
        if isinstance(value, tuple):
            return tuple(map(operand, value))
        return value

    changes = {f.name: operand(getattr(stmt, f.name)) for f in opdef(stmt).of_kind("operand")}
    if isinstance(stmt, Store) and stmt.buffer in rings:
        changes |= {"indices": (where(stmt.slot), *changes["indices"]), "slot": None}
    return replace(stmt, **changes)
