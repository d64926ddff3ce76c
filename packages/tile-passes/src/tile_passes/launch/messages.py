"""Say what a target's compiler said, in terms of the user's kernel.

The compiler names lines of generated source, which the user never wrote. The emitter leaves
comments of the form `// kernel.py:12: ...` above the statements of that line; the nearest one above
a message is where it belongs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tile_ir.diag import Span, TileError

__all__ = ["CLANG_PLACED", "FIRST_MESSAGES", "Message", "Messages", "nearest_marker", "note_of"]

CLANG_PLACED = re.compile(
    r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.M
)
"""How compilers made of Clang write an error that has a place."""

MARKER = re.compile(r"(?://|/\*)\s*(?P<file>\S+\.py):(?P<line>\d+)")
FIRST_MESSAGES = 3
"""How many of a compiler's errors are shown: later ones mostly follow from these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One error of the compiler: its text, its line in the source if known, the user's place."""

    text: str
    line: int | None
    span: Span | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """How a target's compilers write.

    `placed` finds errors with groups `line` and `text`, `unplaced` those with `text` alone,
    `missing` whether a text says that the architecture lacks an instruction; `compiler` is the
    subject of the sentence that the kernel was refused.
    """

    placed: re.Pattern[str]
    unplaced: re.Pattern[str]
    missing: re.Pattern[str]
    compiler: str = "the compiler"

    def parse(self, log: str, source: str) -> tuple[Message, ...]:
        """The errors in a compiler's log, in order, each placed on the user's line where one is
        known."""
        found = [
            Message(
                text=m["text"], line=int(m["line"]), span=nearest_marker(source, int(m["line"]))
            )
            for m in self.placed.finditer(log)
        ]
        found += [
            Message(text=m["text"], line=None, span=None) for m in self.unplaced.finditer(log)
        ]
        return tuple(found)

    def refusal(self, log: str, source: str, command: str) -> TileError:
        """E3002 for source that was refused (E3015 where the architecture lacks an instruction)."""
        messages = self.parse(log, source)[:FIRST_MESSAGES]
        notes = [note_of(message, source) for message in messages]
        if not messages:
            notes = log.strip().splitlines()[-FIRST_MESSAGES:]
        first = messages[0].text if messages else "no message"
        span = next((message.span for message in messages if message.span), None)
        if any(self.missing.search(message.text) for message in messages):
            help_text = "Compile for the architecture that was meant, or report this kernel."
            return TileError("E3015", first, span, (*notes, f"options: {command}"), help_text)
        return TileError(
            "E3002",
            f"{self.compiler} refused the kernel: {first}",
            span=span,
            notes=(*notes, f"options: {command}"),
            help="If the kernel calls its own source, mend that; else please report this kernel.",
        )


def nearest_marker(source: str, line: int) -> Span | None:
    """The user's line of the last comment at or above a line of the source (from 1)."""
    for text in reversed(source.splitlines()[:line]):
        marker = MARKER.search(text)
        if marker:
            return Span(marker["file"], int(marker["line"]))
    return None


def note_of(message: Message, source: str) -> str:
    """The note that shows an error of the compiler, with its line of the source."""
    where = f"{message.span}: " if message.span else ""
    if message.line is None:
        return where + message.text
    lines = source.splitlines()
    shown = lines[message.line - 1].strip() if message.line <= len(lines) else ""
    return f"{where}{message.text} [line {message.line}: {shown}]"
