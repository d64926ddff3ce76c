"""The one answer of a tuner without a searcher: an error that says what to do instead."""

from __future__ import annotations

from typing import NoReturn

from tile_ir.diag import TileError


def not_built(*_: object) -> NoReturn:
    """Raise `TileError` E0990; it stands in for the searcher's factory."""
    raise TileError(
        "E0990",
        "tuner 'search' is not built yet",
        notes=("tile-tune reserves the name; it holds no search space, measuring or database",),
        help="time the candidates in a loop of your own: block sizes are plain Python arguments",
    )
