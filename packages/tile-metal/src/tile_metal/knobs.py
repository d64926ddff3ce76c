"""Environment settings of the Metal target, read in one place and typed.

Nothing else in the package reads the environment: a setting that changes what a kernel does must be
found by looking at this file. Every function reads the variable anew, so tests and notebooks
may change it between two compilations.
"""

from __future__ import annotations

from tile_ir.environment import choice, keep_source, text

__all__ = ["checker", "keep_source", "requested_arch"]

CHECKERS = ("xcrun", "clang", "none")


def checker() -> str | None:
    """Which compiler checks the source (``TILE_METAL_CHECK``): xcrun, clang, none; None for the
    first that is there.

    Raises TileError E3001 for any other text.
    """
    return choice("TILE_METAL_CHECK", CHECKERS, "E3001")


def requested_arch() -> str | None:
    """Name of the description to compile for (``TILE_METAL_ARCH``), or None for the device's."""
    return text("TILE_METAL_ARCH")
