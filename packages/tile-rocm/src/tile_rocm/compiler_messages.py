"""Say what the device compiler said, in terms of the user's kernel.

The compiler names lines of generated source, which the user never wrote. The emitter leaves
comments of the form `// kernel.py:12: ...` above the statements of that line; the nearest one above
a message is where it belongs.
"""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Message",
    "compiler_failed",
    "file_error",
    "parse_messages",
]

MESSAGE = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+):\d+: (?:fatal )?error: (?P<text>.*)$", re.M)
UNPLACED = re.compile(r"^(?:ld\.lld: |fatal )?error: (?P<text>.*)$", re.M)
MARKER = re.compile(r"//\s*(?P<file>\S+\.py):(?P<line>\d+)")
MISSING = re.compile(r"needs target feature|Cannot select|instruction not supported", re.I)
FIRST_MESSAGES = 3

STORAGE_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "the folder cannot be written",
    errno.EPERM: "the folder cannot be written",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One error of the compiler: its text, its line in the source if known, the user's place."""

    text: str
    line: int | None
    span: Span | None


def parse_messages(log: str, source: str) -> tuple[Message, ...]:
    """The errors in a compiler's log, in order, each placed on the user's line where one is
    known."""
    found = [
        Message(text=m["text"], line=int(m["line"]), span=_nearest_marker(source, int(m["line"])))
        for m in MESSAGE.finditer(log)
    ]
    found += [Message(text=m["text"], line=None, span=None) for m in UNPLACED.finditer(log)]
    return tuple(found)


def _nearest_marker(source: str, line: int) -> Span | None:
    for text in reversed(source.splitlines()[:line]):
        marker = MARKER.search(text)
        if marker:
            return Span(marker["file"], int(marker["line"]))
    return None


def compiler_failed(log: str, source: str, command: str) -> TileError:
    """E3002 for source that was refused (E3015 where the architecture lacks an instruction)."""
    messages = parse_messages(log, source)[:FIRST_MESSAGES]
    notes = [_note(message, source) for message in messages]
    if not messages:
        notes = log.strip().splitlines()[-FIRST_MESSAGES:]
    first = messages[0].text if messages else "no message"
    span = next((message.span for message in messages if message.span), None)
    if any(MISSING.search(message.text) for message in messages):
        help_text = "Compile for the architecture that was meant, or report this kernel."
        return TileError("E3015", first, span, (*notes, f"options: {command}"), help_text)
    return TileError(
        "E3002",
        f"the compiler refused the kernel: {first}",
        span=span,
        notes=(*notes, f"options: {command}"),
        help="If the kernel calls its own source, mend that; else please report this kernel.",
    )


def _note(message: Message, source: str) -> str:
    where = f"{message.span}: " if message.span else ""
    if message.line is None:
        return where + message.text
    lines = source.splitlines()
    shown = lines[message.line - 1].strip() if message.line <= len(lines) else ""
    return f"{where}{message.text} [line {message.line}: {shown}]"


def file_error(error: OSError, path: Path) -> TileError:
    """E3003 for an output that cannot be written: why, and where else to write."""
    reason = STORAGE_ERRORS.get(error.errno or 0, str(error))
    return TileError(
        "E3003",
        f"cannot write {path}: {reason}",
        notes=(str(error),),
        help="Free space or choose another folder by TILE_CACHE_DIR.",
    )
