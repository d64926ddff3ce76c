"""Reads the text that `str(layout)` prints.

    tile      k (64:64) n (64:1, 4:4096) swizzle<3,4,3>
    fragment  group (2:m*64) thread (4:-, 8:m*1, 4:m*16) value (2:m*8) -> (m, n)
    table     map m 2 n 4 -> offset 8 [0+8]

A digit is `extent:stride` into an offset, `extent:axis*stride` along a named axis, or `extent:-`
(replicated). A fragment's `-> (axes)` gives the order of its dimensions where it is not the order
of the digits reversed. A table's entries are single, or `a+n`, n of them counting up from a, or
`a*n`, n times a.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tile_ir.diag import TileError
from tile_ir.layout.base import OFFSET, Axis, Layout, default_outputs
from tile_ir.layout.digits import Digit, Digits
from tile_ir.layout.kinds import make_layout
from tile_ir.layout.swizzle import Swizzle
from tile_ir.layout.table import MapLayout, check_table_size

if TYPE_CHECKING:
    from collections.abc import Sequence

_TOKEN = re.compile(r"\s*(?:(->|-?\d+|[A-Za-z_]\w*|[():,*+<>\[\]-])|\Z)")
_HELP = (
    "write for example `m (64:64) k (64:1) swizzle<3,4,3>` or `thread (4:n*2, 8:m*1) value (2:n*1)`"
)


@lru_cache(maxsize=4096)
def parse_layout(text: str) -> Layout:
    """Return the layout that `text` describes; the inverse of `str`.

    Raises E0301 for text that is no layout, and the codes of the layout's class for one that makes
    no sense.
    """
    reader = _Reader(text)
    layout = _table(reader) if reader.take_if("map") else _digit_layout(reader)
    reader.expect("")
    return layout


def parse_digits(text: str) -> Digits:
    """Return a digit list such as `(4:n*2, 8:m*1, 4:-)`. Raises E0301."""
    reader = _Reader(text)
    digits = _digits(reader)
    reader.expect("")
    return digits


class _Reader:
    """Tokens of one text with a position, and the error that shows it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.tokens: list[tuple[str, int]] = []
        end = 0
        while end < len(text):
            match = _TOKEN.match(text, end)
            if match is None:
                column = end + len(text[end:]) - len(text[end:].lstrip())
                raise self.error("a layout cannot contain this character", column)
            end = match.end()
            if match[1]:
                self.tokens.append((match[1], match.start(1)))
        self.tokens.append(("", len(text)))

    @property
    def next(self) -> str:
        return self.tokens[self.at][0]

    def take(self) -> str:
        token = self.next
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take_if(self, token: str) -> bool:
        found = self.next == token
        if found:
            self.take()
        return found

    def expect(self, token: str) -> None:
        if self.next != token:
            raise self.error(f"expected {repr(token) if token else 'the end'}")
        self.take()

    def integer(self) -> int:
        if not self.next.lstrip("-").isdigit():
            raise self.error("expected an integer")
        return int(self.take())

    def name(self) -> str:
        if not self.next.isidentifier():
            raise self.error("expected a name")
        return self.take()

    def error(self, why: str, column: int | None = None) -> TileError:
        column = self.tokens[self.at][1] if column is None else column
        shown = self.text[column : column + 12] or "end of text"
        notes = (f"in `{self.text}`",)
        return TileError(
            "E0301", f"{why}, found `{shown}` at column {column + 1}", notes=notes, help=_HELP
        )


def _digit_layout(reader: _Reader) -> Layout:
    axes = []
    if reader.take_if("("):
        reader.expect(")")
    else:
        while reader.next.isidentifier() and reader.next != "swizzle":
            axes.append(Axis(reader.name(), _digits(reader)))
        if not axes:
            raise reader.error("expected an axis")
    outputs = _name_list(reader) if reader.take_if("->") else _implied_outputs(reader, axes)
    return make_layout(axes, outputs, _swizzle(reader))


def _implied_outputs(reader: _Reader, axes: Sequence[Axis]) -> tuple[str, ...]:
    """A text without any named or replicated digit places a tile in memory."""
    named = "*" in reader.text or ":-" in reader.text.replace(" ", "")
    return default_outputs(axes) if named else (OFFSET,)


def _digits(reader: _Reader) -> Digits:
    reader.expect("(")
    digits: list[Digit] = []
    while not reader.take_if(")"):
        if digits:
            reader.expect(",")
        digits.append(_digit(reader))
    return tuple(digits)


def _digit(reader: _Reader) -> Digit:
    extent = reader.integer()
    reader.expect(":")
    if reader.take_if("-"):
        return Digit(extent)
    if not reader.next.isidentifier():
        stride = reader.integer()
        return Digit(extent, OFFSET if stride else None, stride)
    axis = reader.name()
    reader.expect("*")
    return Digit(extent, axis, reader.integer())


def _swizzle(reader: _Reader) -> Swizzle | None:
    if not reader.take_if("swizzle"):
        return None
    fields = []
    for opening in "<,,":
        reader.expect(opening)
        fields.append(reader.integer())
    reader.expect(">")
    return Swizzle(*fields)


def _name_list(reader: _Reader) -> tuple[str, ...]:
    reader.expect("(")
    names: list[str] = []
    while not reader.take_if(")"):
        if names:
            reader.expect(",")
        names.append(reader.name())
    return tuple(names)


def _table(reader: _Reader) -> MapLayout:
    inputs = _extents(reader, "->")
    outputs = _extents(reader, "[")
    entries: list[int] = []
    while not reader.take_if("]"):
        if entries:
            reader.expect(",")
        entries.extend(_run(reader))
    return MapLayout(
        input_names=tuple(inputs),
        input_shape=tuple(inputs.values()),
        output_names=tuple(outputs),
        output_shape=tuple(outputs.values()),
        table=tuple(entries),
        swizzle=_swizzle(reader),
    )


def _extents(reader: _Reader, end: str) -> dict[str, int]:
    found: dict[str, int] = {}
    while not reader.take_if(end):
        name = reader.name()
        found[name] = reader.integer()
    return found


def _run(reader: _Reader) -> Sequence[int]:
    first = reader.integer()
    if reader.take_if("+"):
        count = reader.integer()
        check_table_size(count)
        return range(first, first + count)
    if reader.take_if("*"):
        count = reader.integer()
        check_table_size(count)
        return (first,) * count
    return (first,)
