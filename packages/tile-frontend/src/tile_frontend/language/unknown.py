"""The error for a name that the language does not have, with the nearest ones that it does."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from tile_frontend.trace.vocabulary import TileAttributeError
from tile_ir.diag import Fix

if TYPE_CHECKING:
    from collections.abc import Sequence


def unknown(name: str, known: Sequence[str]) -> TileAttributeError:
    """The error E1504 for `T.name`."""
    near = get_close_matches(name, sorted(set(known)), n=3, cutoff=0.6)
    guess = (
        f"did you mean {', '.join('T.' + n for n in near)}?"
        if near
        else "see the language reference"
    )
    fix = Fix(name, near[0]) if near else None
    return TileAttributeError("E1504", f"the language has no name T.{name}", help=guess, fix=fix)
