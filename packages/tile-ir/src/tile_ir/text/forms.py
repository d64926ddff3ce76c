"""The text form of each op, compiled from its declaration: what printer and parser both walk.

`syntax` in an op's declaration is made of

    words and punctuation     stand for themselves
    $field                    the field's text, by its type (`tile_ir.text.fields`)
    "$field"                  a string that is always quoted
    ?(word ... $field)        left out when the field has its default; starts with a word

Fields that `syntax` does not mention form the attribute list: `name = value` where the value
differs from the default, bare `name` for true, with commas between, in field order. It stands
before the first nested body, else at the end.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from tile_ir.diag import InternalError
from tile_ir.opdef import FIRST, Changes, changes
from tile_ir.text.fields import FIELDS, QUOTED, FieldText
from tile_ir.text.lexer import Source, Tokens

if TYPE_CHECKING:
    from tile_ir.opdef import OpDef

_PART = re.compile(r'\?\((?P<group>[^)]*)\)|"\$(?P<quoted>\w+)"|\$(?P<field>\w+)')


@dataclass(frozen=True, slots=True)
class Words:
    """Literal text; `tokens` are its (kind, text) pairs."""

    text: str
    tokens: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its name, how its type reads, its default (`dataclasses.MISSING` when required)."""

    name: str
    text: FieldText
    default: Any
    binds: bool
    body: bool
    changes: Changes


@dataclass(frozen=True, slots=True)
class Group:
    """Parts left out while the one field among them has its default."""

    parts: tuple[Words | Field, ...]
    field: Field


Part = Union[Words, Field, Group]  # noqa: UP007 -- named in annotations that are evaluated


@dataclass(frozen=True, slots=True)
class Form:
    """An op's text: `head`, the attribute list, then `rest` (from the first nested body on).

    `read_from` is `OpDef.read_from`; `changed` has the fields that older texts lack, name or read
    otherwise.
    """

    head: tuple[Part, ...]
    attributes: dict[str, Field]
    rest: tuple[Part, ...]
    read_from: tuple[int, int] = FIRST
    changed: tuple[Field, ...] = ()


_FORMS: dict[type, Form] = {}


def form_of(op: OpDef) -> Form:
    """The compiled form of an op.

    Raises:
        InternalError: E9001 for a syntax that names a field the op lacks, or a type without text.
    """
    found = _FORMS.get(op.cls)
    if found is None:
        found = _FORMS[op.cls] = _compile(op)
    return found


def _compile(op: OpDef) -> Form:
    fields = {f.name: _field(op, f) for f in op.fields}
    parts = _parts(op, op.syntax, fields)
    named = {f.name for p in parts for f in _fields_in(p)}
    attributes = {name: f for name, f in fields.items() if name not in named}
    first_body = next((i for i, p in enumerate(parts) if any(f.body for f in _fields_in(p))), None)
    cut = len(parts) if first_body is None else first_body
    changed = tuple(f for f in fields.values() if f.changes != Changes())
    return Form(parts[:cut], attributes, parts[cut:], op.read_from, changed)


def _field(op: OpDef, f: dataclasses.Field[Any]) -> Field:
    text = FIELDS.get(str(f.type))
    if text is None:
        raise InternalError("E9001", f"op {op.name}: {f.name} has type {f.type}, without a text")
    kind = f.metadata["kind"]
    return Field(f.name, text, f.default, kind == "binds", kind == "region", changes(f))


def _fields_in(part: Part) -> tuple[Field, ...]:
    if isinstance(part, Group):
        return (part.field,)
    return (part,) if isinstance(part, Field) else ()


def _parts(op: OpDef, syntax: str, fields: dict[str, Field]) -> tuple[Part, ...]:
    out: list[Part] = []
    done = 0
    for match in _PART.finditer(syntax):
        _add_words(out, syntax[done : match.start()])
        done = match.end()
        if match["group"] is not None:
            out.append(_group(op, match["group"], fields))
            continue
        name = match["field"] or match["quoted"]
        if name not in fields:
            raise InternalError("E9001", f"op {op.name}: syntax names {name}, which is no field")
        field = fields[name]
        out.append(dataclasses.replace(field, text=QUOTED) if match["quoted"] else field)
    _add_words(out, syntax[done:])
    return tuple(out)


def _group(op: OpDef, syntax: str, fields: dict[str, Field]) -> Group:
    parts = _parts(op, syntax, fields)
    inner = [p for p in parts if isinstance(p, Field)]
    if len(inner) != 1 or not isinstance(parts[0], Words):
        raise InternalError("E9001", f"op {op.name}: ?({syntax}) needs a word, then one field")
    return Group(tuple(p for p in parts if not isinstance(p, Group)), inner[0])


def _add_words(out: list[Part], text: str) -> None:
    if text:
        tokens = Tokens(Source(text, "syntax"))
        out.append(Words(text, tuple(zip(tokens.kinds, tokens.texts, strict=True))[:-1]))
