"""The one answer of a target without a code generator: an error that says what to do instead."""

from __future__ import annotations

from typing import NoReturn

from tile_ir.diag import TileError


def not_built(*_: object) -> NoReturn:
    """Raise `TileError` E0990; it stands in for every factory of the manifest."""
    raise TileError(
        "E0990",
        "target 'metal' is not built yet",
        notes=("tile-metal reserves the name; it holds no descriptions, emitter or runtime",),
        help="use target='cpu' (pip install tile-cpu); kernels name no target, so none must change",
    )
