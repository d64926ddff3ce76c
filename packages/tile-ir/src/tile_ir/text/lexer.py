"""Text to tokens: parallel lists, because a parser in Python is as fast as its token access."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from tile_ir.diag import Span, TileError

IDENT, NUMBER, STRING, END = "name", "number", "string", "end of text"
RESERVED = frozenset({"and", "or", "not", "true", "false", "inf", "nan"})
"""Words of the expression grammar; no variable or buffer has one of these names."""

_TOKEN = re.compile(
    r"""[ \t\r]*(?:
      (?P<number>(?:(?:inf\b|nan\b(?:\(0x[0-9a-f]{1,16}\))?)|0[xX][0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?[pP][+-]?\d+|0[xX][0-9a-fA-F]+
        |\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+)(?::[a-z]\w*)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<op>->|//|<<|>>|<=|>=|==|!=|[-+*/%&|^~<>=()\[\]{},:;@])
    | (?P<line>\n)
    | (?P<comment>\#[^\n]*)
    | (?P<end>\Z)
    | (?P<bad>.)
    )""",
    re.VERBOSE,
)


class Source:
    """A text and its name, for spans."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Line (from 1) and column (from 0) of a character."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]

    def span(self, start: int, end: int) -> Span:
        """The span of the characters from `start` to before `end`."""
        line, col = self.place(start)
        end_line, end_col = self.place(end)
        return Span(self.file, line, col, end_line, end_col)

    def line_of(self, offset: int) -> str:
        """The whole line around a character."""
        begin = self.text.rfind("\n", 0, offset) + 1
        return self.text[begin:].partition("\n")[0].strip()


class Tokens:
    """The tokens of a text. `kinds[i]` is a class (`name`, `number`, `string`) or the token itself.

    `fresh[i]` says that a token is the first on its line. The last token is `end of text`.
    """

    __slots__ = ("ends", "fresh", "kinds", "source", "starts", "texts")

    def __init__(self, source: Source, offset: int = 0) -> None:
        self.source = source
        self.kinds: list[str] = []
        self.texts: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.fresh: list[bool] = []
        self._scan(offset)

    def _scan(self, offset: int) -> None:
        kinds, texts, starts, ends, fresh = (
            self.kinds.append,
            self.texts.append,
            self.starts.append,
            self.ends.append,
            self.fresh.append,
        )
        new_line = True
        for match in _TOKEN.finditer(self.source.text, offset):
            group = match.lastgroup or ""
            if group == "line":
                new_line = True
                continue
            if group == "comment":
                continue
            if group == "bad":
                raise _unexpected(self.source, match.start(group))
            text = match[group]
            plain = group == "op" or (group == "name" and text in RESERVED)
            kinds(text if plain else END if group == "end" else group)
            texts(text)
            starts(match.start(group))
            ends(match.end(group))
            fresh(new_line)
            new_line = False
            if group == "end":
                return


def _unexpected(source: Source, at: int) -> TileError:
    character = source.text[at]
    span = source.span(at, at + 1)
    if character == '"':
        return TileError(
            "E0016",
            "this string does not end on its line",
            span,
            help='close it with ", and write a line break as \\n',
        )
    fix = "remove it; a name with such characters is written as a string in quotes"
    return TileError("E0003", f"unexpected character {character!r}", span, help=fix)
