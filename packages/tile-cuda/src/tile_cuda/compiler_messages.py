"""Say what the device compiler said, in terms of the user's kernel.

The compiler names lines of generated source, which the user never wrote. The emitter leaves
comments of the form `// kernel.py:12: ...` above the statements of that line; the nearest one above
a message is where it belongs. The assembler's remarks tell of performance lost, which for
asynchronous matrix instructions is not a matter of taste: such a kernel is several times too slow,
so they are errors here.
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
    "Spills",
    "compiler_failed",
    "file_error",
    "parse_messages",
    "raise_for_performance",
    "spills_of",
]

MESSAGE = re.compile(
    r"^(?P<file>[^\s:()]+)\((?P<line>\d+)\): (?:catastrophic )?error:? (?P<text>.*)$", re.M
)
ASSEMBLER = re.compile(r"^ptxas .*?(?:line \d+; )?(?:error|fatal)\s*: (?P<text>.*)$", re.M)
MARKER = re.compile(r"//\s*(?P<file>\S+\.py):(?P<line>\d+)")
REMARK = re.compile(r"\((?P<code>C7\d\d\d)\)\s*(?P<text>.*)$", re.M)
PROPERTIES = re.compile(
    r"Function properties for '?(?P<name>\w+)'?\s*\n"
    r".*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads"
)
MISSING = re.compile(r"requires \.target|not supported on \.target|requires PTX ISA", re.I)
FIRST_MESSAGES = 3

SERIALIZED = {
    "C7510": "a function call lies between issue and wait",
    "C7511": "the compiler copies accumulators and has too few registers for it",
    "C7512": "too few registers for the accumulators in flight (leave 28 free)",
    "C7513": "registers that an instruction takes are written inside its group",
    "C7514": "an accumulator is read while a newer group is in flight over a loop edge",
    "C7515": "an accumulator in flight over a loop edge is not defined by such an instruction",
    "C7517": "an accumulator retired earlier is modified while another group is in flight",
    "C7518": "a group is in flight on some paths only",
    "C7602": "one instruction needs more registers than the launch leaves to a thread",
}
"""Remarks of the assembler that mean every asynchronous matrix instruction runs alone -> why."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Spills:
    """Bytes of registers that a kernel stores to and loads from memory, as the assembler counts."""

    stores: int
    loads: int


def parse_messages(log: str, source: str) -> tuple[Message, ...]:
    """The errors in a compiler's log, in order, each placed on the user's line where one is
    known."""
    found = [
        Message(text=m["text"], line=int(m["line"]), span=_nearest_marker(source, int(m["line"])))
        for m in MESSAGE.finditer(log)
    ]
    found += [Message(text=m["text"], line=None, span=None) for m in ASSEMBLER.finditer(log)]
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
        f"the CUDA compiler refused the kernel: {first}",
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


def raise_for_performance(log: str) -> None:
    """Refuse a build that the assembler says is far slower than what was asked for.

    Raises TileError E3004 (matrix instructions serialized), E3006 (register hand-over ignored).
    """
    for remark in REMARK.finditer(log):
        reason = SERIALIZED.get(remark["code"])
        if reason is not None:
            raise TileError(
                "E3004",
                f"asynchronous matrix instructions are serialized: {reason}",
                notes=(f"{remark['code']}: {remark['text'].strip()}",),
                help="Use smaller blocks, fewer stages or more threads, or pin another schedule.",
            )
    for line in log.splitlines():
        if "setmaxnreg" in line and "ignored" in line:
            raise TileError(
                "E3006",
                "the compiler ignored the register limits of the roles",
                notes=(line.strip(),),
                help="Please report this kernel; pinning registers off avoids it.",
            )


def spills_of(log: str) -> dict[str, Spills]:
    """Kernel -> what it spills, from the assembler's statistics."""
    return {
        m["name"]: Spills(stores=int(m["stores"]), loads=int(m["loads"]))
        for m in PROPERTIES.finditer(log)
    }


def file_error(error: OSError, path: Path) -> TileError:
    """E3003 for an output that cannot be written: why, and where else to write."""
    reason = STORAGE_ERRORS.get(error.errno or 0, str(error))
    return TileError(
        "E3003",
        f"cannot write {path}: {reason}",
        notes=(str(error),),
        help="Free space or choose another folder by TILE_CACHE_DIR.",
    )
