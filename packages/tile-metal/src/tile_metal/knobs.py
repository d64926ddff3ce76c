"""Environment settings of the Metal target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two compilations.
"""

from __future__ import annotations

import os

from tile_ir.diag import TileError

__all__ = ["checker", "keep_source", "requested_arch"]

CHECKERS = ("xcrun", "clang", "none")


def checker() -> str | None:
    """Which compiler checks the source (``TILE_METAL_CHECK``): xcrun, clang, none; None for the
    first that is there.

    Raises TileError E3001 for any other text.
    """
    text = os.environ.get("TILE_METAL_CHECK") or None
    if text is None or text in CHECKERS:
        return text
    raise TileError(
        "E3001",
        f"TILE_METAL_CHECK is {text!r}",
        help=f"Set it to one of {', '.join(CHECKERS)}, or unset it.",
    )


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_METAL_ARCH``), or None for the device's."""
    return os.environ.get("TILE_METAL_ARCH") or None


def keep_source() -> bool:
    """Whether the source is left beside each compiled kernel (``TILE_KEEP_SOURCE=1``)."""
    return os.environ.get("TILE_KEEP_SOURCE", "0") not in ("", "0")
