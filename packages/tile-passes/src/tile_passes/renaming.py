"""Sending the accesses of a statement to another buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tile_ir.core import Region
from tile_ir.expr import Expr, Load, rewrite
from tile_ir.opdef import opdef
from tile_ir.ops import Atomic, Store
from tile_ir.rewrite import map_stmts, replace

if TYPE_CHECKING:
    from tile_ir.opdef import Stmt


def with_buffer(stmt: Stmt, old: str, new: str) -> Stmt:
    """The statement, nested ones included, with every access to buffer `old` sent to `new`."""
    memo: dict[Expr, Expr] = {}

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer == old:
            return Load(new, e.indices, e.dtype, e.slot)
        return None

    def operand(value: Any) -> Any:
        if isinstance(value, Expr):
            return rewrite(value, load, memo)
        if isinstance(value, Region):
            return Region(new, value.ranges, value.slot) if value.buffer == old else value
        if isinstance(value, tuple):
            made = tuple(map(operand, value))
            return value if all(a is b for a, b in zip(value, made, strict=True)) else made
        return value

    def visit(s: Stmt) -> Stmt:
        changes = {f.name: operand(getattr(s, f.name)) for f in opdef(s).of_kind("operand")}
        if isinstance(s, (Store, Atomic)) and s.buffer == old:
            changes["buffer"] = new
        return replace(s, **changes)

    (made,) = map_stmts((stmt,), visit)
    return made
