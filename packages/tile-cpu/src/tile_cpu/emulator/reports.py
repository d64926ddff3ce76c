"""What the emulator found, as an error that names the user's line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["KINDS", "Report", "error_of", "parse_report"]

KINDS = {
    "bounds": ("E2303", "Guard the access, or check the indices at the tensor's edges."),
    "alignment": ("E2304", "Use narrower vectors, or align offsets and strides."),
    "uninitialized": ("E2305", "Write it first; where another thread does, wait for that."),
    "race": ("E2306", "Put a barrier between them; between blocks, an atomic or a kernel."),
    "deadlock": ("E2307", "See in the notes what each warp waits for, and who should arrive."),
    "divergence": ("E2308", "Let all threads concerned reach the operation, or none."),
    "barrier": ("E2309", "Check counts, initialisation and order of the barrier's uses."),
    "fence": ("E2311", "Put a fence for engines behind the writes, in front of the barrier."),
    "trap": ("E2310", "An assertion of the kernel does not hold for these arguments."),
}
"""Kind of a report -> its code and what to do."""
_PLACE = re.compile(r"#(\d+):(\d+)\s*")
_NAME = re.compile(r"&(\d+)")
MOST_NOTES = 70


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What went wrong: kind, position in the program, block and thread, text with marks."""

    kind: str
    at: int
    block: tuple[int, ...]
    thread: int
    text: str

    def moved(self, place: Callable[[int], int]) -> Report:
        """The same with other numbers for positions in the program."""
        text = _PLACE.sub(lambda m: f"#{place(int(m[1]))}:{m[2]} ", self.text)
        return replace(self, at=place(self.at), text=text)


def parse_report(text: str) -> Report:
    """Read the library's words."""
    kind, where, rest = text.split("\n", 2)
    at, *block, thread = (int(word) for word in where.split())
    return Report(kind=kind, at=at, block=tuple(block), thread=thread, text=rest)


def error_of(
    report: Report,
    kernel: str,
    names: Sequence[str],
    places: Mapping[int, tuple[str, int, str, str]],
) -> TileError:
    """The error for a report; `names` are those of the regions."""
    code, help_text = KINDS[report.kind]
    first, *more = report.text.split("\n")
    named = _NAME.sub(lambda m: names[int(m.group(1))], first)
    notes = [
        f"in {kernel}, block {report.block[0]}, thread {report.thread}",
        f"at {_described(report.at, places)}",
    ]
    for line in more[:MOST_NOTES]:
        mark = _PLACE.match(line)
        at = int(mark.group(1)) if mark else 0
        words = line[mark.end() :] if mark else line
        notes.append(f"{words}: {_described(at, places)}" if at else words)
    span = _span(report.at, places)
    return TileError(code, named, span, notes=tuple(notes), help=help_text)


def _described(at: int, places: Mapping[int, tuple[str, int, str, str]]) -> str:
    if at not in places:
        return f"position {at}"
    instruction, line, text, user = places[at]
    own = f"line {line} of the source: {text}" if text else "the source"
    what = f" [{instruction}]" if instruction else ""
    return f"{own}{what}{f' from {user}' if user else ''}"


def _span(at: int, places: Mapping[int, tuple[str, int, str, str]]) -> Span | None:
    user = places[at][3] if at in places else ""
    file, _, line = user.rpartition(":")
    return Span(file, int(line)) if file and line.isdigit() else None
