"""Calls of the language's functions with arguments that do not fit: Python's own error, told with
the place, the signature and what the function is for.
"""

from __future__ import annotations

import inspect
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tile_frontend.trace.places import is_users, placed
from tile_frontend.trace.vocabulary import NAMES
from tile_ir.diag import Fix, TileError

if TYPE_CHECKING:
    from types import TracebackType

    from tile_ir.diag import Span

__all__ = ["misfit"]

_MISFIT = re.compile(
    r"(?P<name>\w+)(?:\.__init__)?\(\) (?P<what>(?:missing|got|takes) .*)", re.DOTALL
)
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")


def misfit(error: TypeError, trace: TracebackType | None, parent: Span | None) -> TileError | None:
    """The error E1111 for a call in the user's code of a function of the language; None for a call
    of anything else, and where the call itself was right."""
    found = _MISFIT.match(str(error))
    name = "" if found is None else found["name"]
    if found is None or name not in NAMES:
        return None
    made = _told(name, NAMES[name], found["what"])
    made = placed(made, trace, parent)
    line = "" if made.span is None else made.span.text() or ""
    return made if re.search(rf"\.\s*{name}\s*\(", line) and _is_users(trace) else None


def _told(name: str, function: Any, what: str) -> TileError:
    given = inspect.signature(function)
    plain = [p.replace(annotation=p.empty) for p in given.parameters.values()]
    shown = given.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    wrong = _UNEXPECTED.search(what)
    meant = _nearest(wrong[1], list(given.parameters)) if wrong else None
    guess = f"did you mean {meant}=? " if meant else ""
    about = " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split()).rstrip(".")
    return TileError(
        "E1111",
        f"T.{name}() {what}",
        notes=(about,),
        help=f"{guess}its parameters are T.{name}{shown}",
        fix=Fix(wrong[1], meant) if wrong and meant else None,
    )


def _nearest(wrong: str, names: list[str]) -> str | None:
    """A longer name with the wrong one in it, as `num_stages` has `stages`; else one like it."""
    longer = [n for n in names if wrong in n]
    return next(iter(longer or get_close_matches(wrong, names, n=1)), None)


def _is_users(trace: TracebackType | None) -> bool:
    """Whether the error came from the call itself, not from code that was called."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and is_users(trace.tb_frame.f_code)
