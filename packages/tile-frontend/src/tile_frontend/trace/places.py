"""Places in the user's own code: of an exception's traceback, or of the call running now."""

from __future__ import annotations

import linecache
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import tile_ir
import tile_passes
from tile_frontend.trace.mends import mend_for
from tile_ir.diag import Span, TileError

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType

_OURS = [
    str(Path(file).resolve().parent)
    for file in (tile_ir.__file__, tile_passes.__file__, Path(__file__).parent)
]
_OURS += [threading.__file__, str(Path(threading.__file__).with_name("concurrent")), "<call>"]
"""Folders and files of code that is not the user's: ours, what runs a thread, the code of calls."""


_COMMANDS = str(Path(__file__).resolve().parents[1] / "cli.py")


def not_the_users(folder: Path) -> None:
    """Blame no line in this folder: it is a dialect of the language, which registers itself."""
    if str(folder) not in _OURS:
        _OURS.append(str(folder))


def is_users(code: CodeType) -> bool:
    """Whether the code is the user's own, not ours nor what runs threads."""
    return not code.co_filename.startswith((*_OURS, "<frozen"))


def placed(error: TileError, trace: TracebackType | None, parent: Span | None = None) -> TileError:
    """The error at the innermost line of the user's own code, with the calls that led to it."""
    if error.span is not None:
        return error
    span = parent
    while trace is not None:
        frame = trace.tb_frame
        if is_users(frame.f_code):
            span = _at(frame, trace.tb_lasti, trace.tb_lineno, span)
        trace = trace.tb_next
    return error.at(span).mended(mend_for(error.code, span))


def here() -> Span | None:
    """The user's call that is running now, for errors outside any traced function. What a command
    calls has none: behind it stands the script that starts the command."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code):
        if frame.f_code.co_filename == _COMMANDS:
            return None
        frame = frame.f_back
    return None if frame is None else _at(frame, frame.f_lasti, frame.f_lineno, None)


def _at(frame: FrameType, instruction: int, line: int, parent: Span | None) -> Span:
    code = frame.f_code
    if sys.version_info >= (3, 11):
        exact = list(code.co_positions())[instruction // 2]
        first, last, col, end_col = exact
        first = first or line
        if last != first:  # a whole loop: its header says enough
            end_col = len(linecache.getline(code.co_filename, first).rstrip())
        return Span(code.co_filename, first, col or 0, first, end_col, parent)
    # Python 3.10 knows lines only; in traced code the statement's own place is the next best.
    traced = frame.f_locals.get("__tile_frame__")
    if traced is not None:
        own: Span = traced.rows[traced.at].span
        return Span(own.file, own.line, own.col, own.end_line, own.end_col, parent)
    return Span(code.co_filename, line, 0, line, None, parent)
