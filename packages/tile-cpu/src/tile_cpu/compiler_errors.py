"""Say what a C compiler said, in terms of the user's kernel.

A compiler names lines of generated C, which the user never wrote. The emitter leaves either `#line`
directives (then the compiler itself names the user's file) or comments of the form
``// kernel.py:12`` above the statements of that source line; the nearest one above a message is
where it belongs.
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
    "CompilerMessage",
    "compiler_failed",
    "file_error",
    "is_storage_message",
    "parse_messages",
]

MESSAGE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.M
)
MARKER = re.compile(r"(?://|/\*)\s*(?P<file>\S+\.py):(?P<line>\d+)")
FIRST_MESSAGES = 3

STORAGE_ERRORS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "the folder cannot be written",
    errno.EPERM: "the folder cannot be written",
}
STORAGE_MESSAGES = ("No space left on device", "Read-only file system", "Disk quota exceeded")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilerMessage:
    """One error of the compiler: its text, its line in the C text if known, the user's place."""

    text: str
    c_line: int | None
    span: Span | None


def parse_messages(said: str, source: str, source_name: str) -> tuple[CompilerMessage, ...]:
    """The compiler's errors in order, each placed on the user's line where a marker tells it."""
    return tuple(_place(found, source, source_name) for found in MESSAGE.finditer(said))


def _place(found: re.Match[str], source: str, source_name: str) -> CompilerMessage:
    file, line = found["file"], int(found["line"])
    if not file.endswith(source_name):
        return CompilerMessage(text=found["text"], c_line=None, span=Span(file, line))
    return CompilerMessage(text=found["text"], c_line=line, span=_nearest_marker(source, line))


def _nearest_marker(source: str, line: int) -> Span | None:
    for text in reversed(source.splitlines()[:line]):
        marker = MARKER.search(text)
        if marker:
            return Span(marker["file"], int(marker["line"]))
    return None


def compiler_failed(said: str, source: str, source_name: str, command: str) -> TileError:
    """E0802 for a compiler that refused `source`: its first messages, placed, and the command."""
    messages = parse_messages(said, source, source_name)[:FIRST_MESSAGES]
    notes = [_note(message, source) for message in messages]
    if not messages:
        notes = said.strip().splitlines()[-FIRST_MESSAGES:]
    return TileError(
        "E0802",
        f"the C compiler refused the kernel: {messages[0].text if messages else 'no message'}",
        span=next((message.span for message in messages if message.span), None),
        notes=(*notes, f"command: {command}"),
        help="If the kernel calls its own C source, mend that; else please report this kernel. "
        "TILE_KEEP_SOURCE=1 keeps the C text of kernels that do build.",
    )


def _note(message: CompilerMessage, source: str) -> str:
    where = f"{message.span}: " if message.span else ""
    if message.c_line is None:
        return where + message.text
    lines = source.splitlines()
    shown = lines[message.c_line - 1].strip() if message.c_line <= len(lines) else ""
    return f"{where}{message.text} [C line {message.c_line}: {shown}]"


def is_storage_message(said: str) -> bool:
    """Whether the compiler failed because its output found no place."""
    return any(text in said for text in STORAGE_MESSAGES)


def file_error(error: OSError, path: Path) -> TileError:
    """E0803 for an output that cannot be written: why, and where else to write."""
    reason = STORAGE_ERRORS.get(error.errno or 0, str(error))
    return TileError(
        "E0803",
        f"cannot write {path}: {reason}",
        notes=(str(error),),
        help="Free space or choose another folder by TILE_CACHE_DIR.",
    )
