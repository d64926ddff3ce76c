"""Say what a C compiler said, in terms of the user's kernel.

A compiler names lines of generated C, which the user never wrote. The emitter leaves either `#line`
directives (then the compiler itself names the user's file) or comments of the form
``// kernel.py:12`` above the statements of that source line; the nearest one above a message is
where it belongs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tile_ir.diag import Span, TileError
from tile_passes.launch import files as launch_files
from tile_passes.launch.messages import FIRST_MESSAGES, Message, nearest_marker, note_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["compiler_failed", "file_error", "is_storage_message", "parse_messages"]

MESSAGE = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.M
)
STORAGE_MESSAGES = ("No space left on device", "Read-only file system", "Disk quota exceeded")


def parse_messages(said: str, source: str, source_name: str) -> tuple[Message, ...]:
    """The compiler's errors in order, each placed on the user's line where a marker tells it."""
    return tuple(_place(found, source, source_name) for found in MESSAGE.finditer(said))


def _place(found: re.Match[str], source: str, source_name: str) -> Message:
    file, line = found["file"], int(found["line"])
    if not file.endswith(source_name):
        return Message(text=found["text"], line=None, span=Span(file, line))
    return Message(text=found["text"], line=line, span=nearest_marker(source, line))


def compiler_failed(said: str, source: str, source_name: str, command: str) -> TileError:
    """E0802 for a compiler that refused `source`: its first messages, placed, and the command."""
    messages = parse_messages(said, source, source_name)[:FIRST_MESSAGES]
    notes = [note_of(message, source) for message in messages]
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


def is_storage_message(said: str) -> bool:
    """Whether the compiler failed because its output found no place."""
    return any(text in said for text in STORAGE_MESSAGES)


def file_error(error: OSError, path: Path) -> TileError:
    """E0803 for an output that cannot be written: why, and where else to write."""
    return launch_files.file_error(error, path, "E0803")
