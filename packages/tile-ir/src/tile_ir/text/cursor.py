"""A position in a token list, and the errors that parsers report there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from tile_ir.diag import Fix, TileError
from tile_ir.text.lexer import END, IDENT, NUMBER, STRING
from tile_ir.text.literals import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tile_ir.diag import Span
    from tile_ir.text.lexer import Tokens

T = TypeVar("T")

ANONYMOUS = "<tile-ir>"
"""The file name in spans of text that came from no file."""

_CLASSES = frozenset({IDENT, NUMBER, STRING, END})


class Cursor:
    """Reads tokens in order. `at` is the index of the next one."""

    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.at = 0

    def take(self, kind: str) -> str:
        """Consume a token of that kind and return its text.

        Raises:
            TileError: E0004.
        """
        at = self.at
        if self.kinds[at] != kind:
            raise self.expected(f"`{kind}`" if kind not in _CLASSES else f"a {kind}")
        self.at = at + 1
        return self.texts[at]

    def accept(self, kind: str) -> bool:
        """Consume the next token if it is of that kind."""
        if self.kinds[self.at] == kind:
            self.at += 1
            return True
        return False

    def accept_word(self, text: str) -> bool:
        """Consume the next token if it is that very word on the same line as the one before."""
        at = self.at
        if self.texts[at] == text and self.kinds[at] == IDENT and not self.tokens.fresh[at]:
            self.at = at + 1
            return True
        return False

    def take_word(self, text: str) -> None:
        """Consume that very word.

        Raises:
            TileError: E0004.
        """
        if self.texts[self.at] != text or self.kinds[self.at] != IDENT:
            raise self.expected(f"`{text}`")
        self.at += 1

    def name(self, what: str) -> str:
        """Consume a name, or a quoted string in its place; `what` says what it names.

        Raises:
            TileError: E0004.
        """
        at = self.at
        text = self.texts[at]
        if text.isidentifier():  # `and`, `nan` too: they are operators only in expressions
            self.at = at + 1
            return text
        if self.kinds[at] == STRING:
            return self.string()
        raise self.expected(what)

    def string(self) -> str:
        """Consume a quoted string and return what it stands for."""
        at = self.at
        return self.placed(lambda: unquote(self.take(STRING)), at)

    def integer(self) -> int:
        """Consume a whole number without type, with an optional minus sign."""
        negative = self.accept("-")
        text = self.texts[self.at]
        if self.kinds[self.at] != NUMBER or not text.isdecimal():
            raise self.expected("a whole number", "write it in decimal digits, without a type")
        self.at += 1
        return -int(text) if negative else int(text)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Parse items with commas between, up to but without a closing `)` or `]`."""
        out: list[T] = []
        if self.kinds[self.at] in (")", "]"):
            return ()
        while True:
            out.append(item())
            if not self.accept(","):
                return tuple(out)

    def enclosed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Parse `(item, ...)`, possibly empty."""
        self.take("(")
        out = self.listed(item)
        self.take(")")
        return out

    def span(self, first: int, last: int | None = None) -> Span:
        """The span from token `first` to token `last`, included; only `first` by default."""
        tokens = self.tokens
        end = tokens.ends[first if last is None else max(first, last)]
        return tokens.source.span(tokens.starts[first], end)

    def expected(self, what: str, fix: str = "", new_line: bool = False) -> TileError:
        """The error that something else stands where `what` must.

        A token that is missing at the end of a line is missed there, not at the start of the next
        one; `new_line` says that `what` may start a line. `fix` says what to do where more than
        writing `what` has to be said.
        """
        at = self.at
        text = self.texts[at]
        if text and at > 0 and self.tokens.fresh[at] and not new_line:
            message = f"expected {what}, found the end of the line"
            end = self.tokens.ends[at - 1]
            span = self.tokens.source.span(end, end + 1)
            return self._error("E0004", message, span, at - 1, fix or f"add {what} to the line")
        found = f"`{text}`" if text else "the end of the text"
        fix = fix or f"write {what} " + (f"before {found} or in its place" if text else "there")
        return self.error("E0004", f"expected {what}, found {found}", fix)

    def error(
        self, code: str, message: str, fix: str | Suggestion, at: int | None = None
    ) -> TileError:
        """An error at token `at` (the next one by default); `fix` says what to do."""
        at = self.at if at is None else at
        if isinstance(fix, str):
            return self._error(code, message, self.span(at), at, fix)
        error = self._error(code, message, self.span(at), at, fix.help)
        return error.mended(None if fix.near is None else Fix(self.texts[at], fix.near))

    def _error(self, code: str, message: str, span: Span, at: int, fix: str) -> TileError:
        source = self.tokens.source
        notes: tuple[str, ...] = ()
        if source.file == ANONYMOUS:
            notes = (f"in the line: {source.line_of(self.tokens.starts[at])}",)
        return TileError(code, message, span, notes, help=fix)

    def placed(self, fn: Callable[[], str], at: int) -> str:
        """Call `fn`, placing its error at token `at`."""
        try:
            return fn()
        except TileError as error:
            raise error.at(self.span(at)) from None


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A help line, and the known name that was probably meant."""

    help: str
    near: str | None = None


def suggestion(name: str, known: Iterable[str], otherwise: str) -> Suggestion:
    """The known name most like `name`, else what `otherwise` says."""
    import difflib  # only for a user who is to be helped

    near = difflib.get_close_matches(name, known, 1)
    return Suggestion(f"did you mean {near[0]}?", near[0]) if near else Suggestion(otherwise)
