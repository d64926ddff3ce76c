"""Indented lines of source, with the user's own source lines as comments where they change."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tile_ir.diag import Span

INDENT = "  "


class Writer:
    """Collects lines. `line_directives` adds `#line`, so that a debugger or compiler names the
    user's file.
    """

    def __init__(self, line_directives: bool = False) -> None:
        self._lines: list[str] = []
        self._depth = 0
        self._place: tuple[str, int] | None = None
        self._directives = line_directives

    def line(self, text: str = "") -> None:
        """Write one line, or an empty one."""
        self._lines.append(INDENT * self._depth + text if text else "")

    def lines(self, text: str) -> None:
        """Write several lines at the present depth."""
        for line in text.splitlines():
            self.line(line)

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """Write `head {`, indent what is written inside, and close with `tail`.

        A head that starts with `}` continues the block before it, whose tail must be empty.
        """
        self.line(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        if tail:
            self.line(tail)

    def place(self, span: Span | None) -> None:
        """Say which line of the user's source follows, unless it is the one said last."""
        if span is None or self._place == (span.file, span.line):
            return
        self._place = (span.file, span.line)
        if self._directives:
            self._lines.append(f'#line {span.line} "{span.file}"')
        text = (span.text() or "").strip()
        name = PurePath(span.file).name
        self.line(f"// {name}:{span.line}: {_one_line(text)}" if text else f"// {name}:{span.line}")

    def forget_place(self) -> None:
        """Make the next `place` speak: at the start of a function nothing has been said yet."""
        self._place = None

    def text(self) -> str:
        """Everything written, with a final newline."""
        return "\n".join(self._lines) + "\n"


def _one_line(text: str) -> str:
    # A trailing backslash would make the compiler read the next line as part of the comment.
    return text.rstrip("\\ ").replace("*/", "* /")
