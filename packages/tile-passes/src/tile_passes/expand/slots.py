"""Naming the channel slot that each access means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.expr import Expr, Load, rewrite
from tile_ir.opdef import opdef
from tile_ir.ops import Store
from tile_ir.rewrite import map_stmts, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_ir.expr import Slot
    from tile_ir.opdef import Body, Stmt


def with_slots(body: Body, slots: Mapping[str, Slot]) -> Body:
    """The statements with every access to a buffer in `slots` sent to its slot; nested ones
    included.
    """
    if not slots:
        return body
    memo: dict[Expr, Expr] = {}

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer in slots:
            return Load(e.buffer, e.indices, e.dtype, slots[e.buffer])
        return None

    def operand(value: Any) -> Any:
        if isinstance(value, Expr):
            return rewrite(value, load, memo)
        if isinstance(value, Region):
            found = slots.get(value.buffer, value.slot)
            return value if found == value.slot else Region(value.buffer, value.ranges, found)
        if isinstance(value, tuple):
            new = tuple(map(operand, value))
            return value if all(a is b for a, b in zip(value, new, strict=True)) else new
        return value

    def stmt(s: Stmt) -> Stmt:
        changes = {f.name: operand(getattr(s, f.name)) for f in opdef(s).of_kind("operand")}
        if isinstance(s, Store) and s.buffer in slots:
            changes["slot"] = slots[s.buffer]
        return replace(s, **changes)

    return map_stmts(body, stmt)
