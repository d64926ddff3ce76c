"""How a field of each type is written and read: all that is not derived from declarations.

A new field type is one entry of `FIELDS`: its annotation as written in the op's declaration, a
printer and a parser.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tile_ir.core import Buffer, Region
from tile_ir.ops.schedule import End
from tile_ir.text.buffers import parse_buffer, parse_layout_text, print_buffer, print_layout
from tile_ir.text.expr_printer import print_slot
from tile_ir.text.literals import quote, word
from tile_ir.types import i32

if TYPE_CHECKING:
    from collections.abc import Callable

    from tile_ir.expr import Expr, Var
    from tile_ir.text.parser import Parser
    from tile_ir.text.printer import Printer


@dataclass(frozen=True, slots=True)
class FieldText:
    """The two directions. `listed` values get parentheses in the attribute list."""

    show: Callable[[Any, Printer], str]
    read: Callable[[Parser], Any]
    listed: bool = False


def print_var(var: Var, p: Printer | None = None) -> str:
    """A variable where it is bound: its type follows unless it is i32."""
    return var.name if var.dtype is i32 else f"{var.name}: {var.dtype}"


def _show_var(var: Var | None, p: Printer) -> str:
    assert var is not None  # None is the default, and defaults are not printed
    return print_var(var)


def _show_end(end: End, p: Printer) -> str:
    text = f"{word(end.kind)} {word(end.name)}"
    if end.arrivals:
        text += f" arrivals {end.arrivals}"
    return text + " per group" if end.per_group else text


def _read_end(q: Parser) -> End:
    kind = q.name("`role` or `engine`")
    name = q.name("the name of a role or engine")
    arrivals = q.integer() if q.accept_word("arrivals") else 0
    per_group = q.accept_word("per")
    if per_group:
        q.take_word("group")
    return End(kind, name, arrivals, per_group)


def _read_bool(q: Parser) -> bool:
    if q.accept("true"):
        return True
    if q.accept("false"):
        return False
    raise q.expected("true or false")


def _show_items(items: tuple[Expr | Region, ...], p: Printer) -> str:
    return ", ".join(f"region {p.region(i)}" if isinstance(i, Region) else p.expr(i) for i in items)


def _read_item(q: Parser) -> Expr | Region:
    marked = q.texts[q.at] == "region" and q.kinds[q.at + 1] == "name"
    if not marked:
        return q.expr()
    q.take_word("region")
    return q.region()


def _show_buffer(buffer: Buffer, p: Printer) -> str:
    return print_buffer(buffer, p.expr)


QUOTED = FieldText(lambda v, p: quote(v), lambda q: q.string())
"""A string that is always in quotes."""

_VAR = FieldText(_show_var, lambda q: q.bound_var())
_EXPR = FieldText(lambda v, p: p.expr(v), lambda q: q.expr())
_STR = FieldText(lambda v, p: word(v), lambda q: q.name("a name"))
_INT = FieldText(lambda v, p: str(v), lambda q: q.integer())


def _tuple_of(item: FieldText) -> FieldText:
    return FieldText(
        lambda v, p: ", ".join([item.show(i, p) for i in v]),
        lambda q: q.listed(lambda: item.read(q)),
        listed=True,
    )


FIELDS: dict[str, FieldText] = {
    "Region": FieldText(lambda v, p: p.region(v), lambda q: q.region()),
    "Expr": _EXPR,
    "Expr | None": _EXPR,
    "tuple[Expr, ...]": _tuple_of(_EXPR),
    "tuple[Expr | Region, ...]": FieldText(
        _show_items, lambda q: q.listed(lambda: _read_item(q)), listed=True
    ),
    "Var": _VAR,
    "Var | None": _VAR,
    "tuple[Var, ...]": _tuple_of(_VAR),
    "Buffer": FieldText(_show_buffer, lambda q: parse_buffer(q)),
    "str": _STR,
    "bool": FieldText(lambda v, p: "true" if v else "false", _read_bool),
    "int": _INT,
    "tuple[int, ...]": _tuple_of(_INT),
    "tuple[str, ...]": _tuple_of(_STR),
    "Slot | None": FieldText(lambda v, p: print_slot(v), lambda q: q.slot()),
    "Layout | None": FieldText(lambda v, p: print_layout(v), lambda q: parse_layout_text(q)),
    "End": FieldText(_show_end, _read_end),
    "Body": FieldText(lambda v, p: p.body(v), lambda q: q.body()),
}
"""Annotation -> text."""
