"""YAML read into frozen dataclasses, strictly: the class is the schema.

Every unknown key, missing key and ill-typed value is an error at its line. Fields may be `str`,
`int`, `float`, `bool`, `Literal`, `X | None`, `tuple[X, ...]`, `frozenset[str]`, `Table[X]` and
dataclasses of these. In a `Table` of dataclasses that have a `name` field, the key is the name.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from io import StringIO
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

__all__ = ["Table", "dump", "merge", "parse", "read"]

T = TypeVar("T")
V = TypeVar("V")

_TAG = "tag:yaml.org,2002:"


class Table(Mapping[str, V]):
    """An immutable, hashable mapping that keeps its order; equality does not look at the order."""

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, V] | None = None, **named: V) -> None:
        self._items: dict[str, V] = {**(items or {}), **named}
        self._hash: int | None = None

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"Table({self._items!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # A cached hash of strings is worth nothing in another process.
        return (Table, (self._items,))


def parse(text: str, file: str) -> MappingNode:
    """Return the syntax tree of a YAML mapping. Raises `TileError` E0911 for anything else."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    stream = StringIO(text)
    stream.name = file  # the loader puts it into every mark
    try:
        node = yaml.compose(stream, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        span = Span(file, mark.line + 1, mark.column) if mark else None
        fix = "mend the syntax there; quote text that holds `: ` or ` #` or starts with a sign"
        raise TileError("E0911", f"not YAML: {error.problem}", span, help=fix) from error
    if not isinstance(node, yaml.MappingNode):
        fix = "write one `key: value` on each line, none of them indented"
        raise TileError("E0911", "expected a mapping of keys to values", Span(file, 1), help=fix)
    return node


def read(node: Node, cls: type[T]) -> T:
    """Return `node` as a value of the dataclass `cls`.

    Raises `TileError` E0912 (unknown key), E0913 (ill-typed), E0914 (missing or repeated key).
    """
    value: T = _dataclass(node, cls)
    return value


def merge(base: MappingNode, over: MappingNode) -> MappingNode:
    """Return `base` overlaid with `over`: mappings are merged key by key, all else is replaced."""
    import yaml

    _pairs(over)  # a repeated key would otherwise be merged with itself
    pairs = {key.value: (key, value) for key, value in base.value}
    for key, value in over.value:
        below = pairs.get(key.value)
        both = below is not None and all(
            isinstance(side, yaml.MappingNode) for side in (below[1], value)
        )
        pairs[key.value] = (key, merge(below[1], value) if both and below else value)
    return yaml.MappingNode(
        over.tag, list(pairs.values()), start_mark=over.start_mark, end_mark=over.end_mark
    )


@cache
def _schema(cls: type) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(cls)
    return tuple((field, hints[field.name]) for field in fields(cls) if field.init)


def _kind(node: Node) -> str:
    # scalar, sequence or mapping: a class attribute that the base class does not declare
    return str(getattr(node, "id", ""))


def _span(node: Node) -> Span:
    start, end = node.start_mark, node.end_mark
    one_line = end.line == start.line
    return Span(
        start.name,
        start.line + 1,
        start.column,
        end_line=end.line + 1 if one_line else None,
        end_col=end.column if one_line else None,
    )


def _wrong(node: Node, expected: str, fix: str) -> TileError:
    found = getattr(node, "value", None)
    shown = repr(found) if isinstance(found, str) else f"a {_kind(node)}"
    return TileError("E0913", f"expected {expected}, found {shown}", _span(node), help=fix)


def _value(node: Node, hint: Any) -> Any:
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass(node, hint)
    if hint in _SCALARS:
        return _scalar(node, hint)
    origin = get_origin(hint)
    return _COMPOUNDS[origin](node, get_args(hint))


def _scalar(node: Node, hint: type) -> Any:
    tags, make, expected, fix = _SCALARS[hint]
    tag = node.tag.removeprefix(_TAG)
    if _kind(node) != "scalar" or tag not in tags:
        raise _wrong(node, expected, fix)
    try:
        return make(node.value)
    except ValueError:
        raise _wrong(node, expected, fix) from None


def _sequence(node: Node, args: tuple[Any, ...]) -> tuple[Any, ...]:
    if _kind(node) != "sequence":
        raise _wrong(node, "a list", "write [a, b], or one `- a` on each line; [] for none")
    return tuple(_value(item, args[0]) for item in node.value)


def _optional(node: Node, args: tuple[Any, ...]) -> Any:
    if node.tag == f"{_TAG}null":
        return None
    return _value(node, next(arg for arg in args if arg is not type(None)))


def _literal(node: Node, choices: tuple[Any, ...]) -> Any:
    if _kind(node) == "scalar" and node.value in choices:
        return node.value
    words = ", ".join(map(str, choices))
    close = difflib.get_close_matches(str(node.value), map(str, choices), n=1)
    guess = f"did you mean {close[0]}?" if close else "write one of these words"
    raise _wrong(node, f"one of {words}", guess)


def _table(node: Node, args: tuple[Any, ...]) -> Table[Any]:
    named = is_dataclass(args[0]) and any(f.name == "name" for f in fields(args[0]))
    return Table(
        {
            key: _dataclass(item, args[0], name=key) if named else _value(item, args[0])
            for key, item in _pairs(node).items()
        }
    )


def _pairs(node: Node) -> dict[str, Node]:
    if _kind(node) != "mapping":
        raise _wrong(node, "a mapping", "write {key: value}, or one `key: value` on each line")
    found: dict[str, Node] = {}
    for key, item in node.value:
        if key.value in found:
            raise TileError(
                "E0914",
                f"key {key.value!r} is given twice",
                _span(key),
                notes=(f"the first one is in line {found[key.value].start_mark.line + 1}",),
                help="keep one of the two, with the value that is meant",
            )
        found[key.value] = item
    return found


def _dataclass(node: Node, cls: type, **given: Any) -> Any:
    pairs = _pairs(node)
    schema = {f.name: (f, hint) for f, hint in _schema(cls) if f.name not in given}
    _refuse_unknown(node, schema, cls)
    values = dict(given)
    for name, (field, hint) in schema.items():
        if name in pairs:
            values[name] = _value(pairs[name], hint)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise TileError(
                "E0914",
                f"{cls.__name__} needs the key {name!r}",
                _span(node),
                help=f"add `{name}:` to this mapping",
            )
    try:
        return cls(**values)
    except TileError as error:
        raise error.at(_span(node)) from None


def _refuse_unknown(node: Node, schema: Mapping[str, object], cls: type) -> None:
    for key, _ in node.value:
        if key.value in schema:
            continue
        close = difflib.get_close_matches(key.value, schema, n=1)
        guess = f"did you mean {close[0]!r}? " if close else ""
        raise TileError(
            "E0912",
            f"{cls.__name__} has no key {key.value!r}",
            _span(key),
            help=f"{guess}the keys are {', '.join(schema)}",
        )


def _integer(text: str) -> int:
    return int(text.replace("_", ""), 0)


_SCALARS: dict[type, tuple[frozenset[str], Callable[[str], Any], str, str]] = {
    # 1.0 or 16 may well be meant as text (a version, an architecture): text takes any scalar.
    str: (
        frozenset({"str", "int", "float", "bool"}),
        str,
        "text",
        "write one word, or several in quotes; no list, no mapping",
    ),
    int: (
        frozenset({"int"}),
        _integer,
        "a whole number",
        "write digits without quotes, as in 49152, 49_152 or 0xc000",
    ),
    # YAML 1.1 takes 1.5e9, without a sign in the exponent, for text.
    float: (
        frozenset({"int", "float", "str"}),
        float,
        "a number",
        "write it as in 64, 0.5 or 1.5e9",
    ),
    bool: (
        frozenset({"bool"}),
        lambda text: text.lower() in {"true", "yes", "on"},
        "true or false",
        "write one of the two, without quotes",
    ),
}

_COMPOUNDS: dict[Any, Callable[[Any, tuple[Any, ...]], Any]] = {
    tuple: _sequence,
    frozenset: lambda node, args: frozenset(_sequence(node, args)),
    Table: _table,
    Literal: _literal,
    Union: _optional,
    UnionType: _optional,
}


def dump(value: object) -> str:
    """Return a dataclass as YAML text, in field order, fields at their defaults left out."""
    return "".join(_dump_item(key, item) for key, item in _plain(value).items())


def _dump_item(key: str, item: Any) -> str:
    import yaml

    # Leaves in flow style, everything above them in block style, so that a line says one thing.
    flow = None if isinstance(item, (dict, list)) else False
    return yaml.safe_dump({key: item}, sort_keys=False, default_flow_style=flow, width=100)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _plain(getattr(value, field.name))
            for field in fields(value)
            if getattr(value, field.name) != _default(field)
        }
    if isinstance(value, Table):
        return {key: _without_name(key, _plain(item)) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _without_name(key: str, item: Any) -> Any:
    is_named = isinstance(item, dict) and item.get("name") == key
    return {k: v for k, v in item.items() if k != "name"} if is_named else item
