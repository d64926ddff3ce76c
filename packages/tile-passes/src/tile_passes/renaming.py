"""Statements under other names: the accesses of one sent to another buffer, and a copy of a body
under fresh names, as it needs to stand in a program twice.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tile_ir import expr as ex
from tile_ir.core import Buffer, Region
from tile_ir.expr import Expr, Load, Var
from tile_ir.opdef import Body, Stmt, opdef
from tile_ir.ops import Atomic, Store
from tile_ir.rewrite import bound_vars, map_exprs, map_stmts, replace, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tile_passes.naming import Names

__all__ = ["renamed", "with_buffer", "with_names"]


def with_buffer(stmt: Stmt, old: str, new: str) -> Stmt:
    """The statement, nested ones included, with every access to buffer `old` sent to `new`."""
    memo: dict[Expr, Expr] = {}

    def load(e: Expr) -> Expr | None:
        if isinstance(e, Load) and e.buffer == old:
            return Load(new, e.indices, e.dtype, e.slot)
        return None

    def operand(value: Any) -> Any:
        if isinstance(value, Expr):
            return ex.rewrite(value, load, memo)
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


def renamed(body: Body, names: Names) -> Body:
    """The statements with new names for everything they bring into scope."""
    vars_: dict[Expr, Expr] = {}
    buffers: dict[str, str] = {}
    for s in walk(body):
        for v in bound_vars(s):
            vars_.setdefault(v, names.var(_stem(v.name), v.dtype))
        for f in opdef(s).of_kind("binds"):
            value = getattr(s, f.name)
            if isinstance(value, Buffer):
                buffers.setdefault(value.name, names.fresh(_stem(value.name)))
    if not vars_ and not buffers:
        return body
    return tuple(_statement(s, _Renaming(vars_, buffers)) for s in body)


def with_names(body: Body, vars_: Mapping[Var, Var], buffers: Mapping[str, str]) -> Body:
    """The statements with variables and buffers under the names that the mappings give."""
    to = _Renaming(dict[Expr, Expr](vars_.items()), dict(buffers))
    return tuple(_statement(s, to) for s in body)


def _stem(name: str) -> str:
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


@dataclasses.dataclass(slots=True)
class _Renaming:
    vars_: dict[Expr, Expr]
    buffers: dict[str, str]
    memo: dict[Expr, Expr] = dataclasses.field(default_factory=dict)

    def expr(self, e: Expr) -> Expr:
        return ex.rewrite(e, self._node, self.memo)

    def _node(self, e: Expr) -> Expr | None:
        if isinstance(e, Var):
            return self.vars_.get(e)
        if isinstance(e, Load) and e.buffer in self.buffers:
            return Load(self.buffers[e.buffer], e.indices, e.dtype, e.slot)
        return None

    def field(self, value: Any) -> Any:
        """A bound variable, a buffer, a region or a buffer's name under its new name."""
        if isinstance(value, Var):
            return self.vars_.get(value, value)
        if isinstance(value, Buffer):
            return dataclasses.replace(value, name=self.buffers.get(value.name, value.name))
        if isinstance(value, Region) and value.buffer in self.buffers:
            return Region(self.buffers[value.buffer], value.ranges, value.slot)
        if isinstance(value, str):
            return self.buffers.get(value, value)
        if isinstance(value, tuple):
            return tuple(self.field(v) for v in value)
        return value


_NAMING = frozenset({"buffer", "source"})
"""Attributes that name a buffer by text."""


def _statement(s: Stmt, to: _Renaming) -> Stmt:
    s = map_exprs(s, to.expr)
    changes: dict[str, Any] = {}
    for f in opdef(s).fields:
        value = getattr(s, f.name)
        if f.metadata["kind"] == "region":
            changes[f.name] = tuple(_statement(inner, to) for inner in value)
        elif f.metadata["kind"] != "attr" or f.name in _NAMING:
            changes[f.name] = (
                value if isinstance(value, Expr) and not isinstance(value, Var) else to.field(value)
            )
    return dataclasses.replace(s, **changes)
